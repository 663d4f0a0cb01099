"""A store that counts the calls of a page, and can be slow in some of them."""

import asyncio


class CountedStore:
    """Passes every call on to another store, and keeps the names of the methods."""

    def __init__(self, store, slow=()):
        self.store, self.slow, self.calls = store, slow, []

    def __getattr__(self, name):
        value = getattr(self.store, name)
        if name == "overview":
            return CountedOverview(self, value)
        return self.counted(name, value) if asyncio.iscoroutinefunction(value) else value

    def counted(self, name, method):
        async def call(*given, **named):
            self.calls.append(name)
            if name in self.slow:
                await asyncio.sleep(5)
            return await method(*given, **named)

        return call


class CountedOverview:
    def __init__(self, counted_store, overview):
        self.counted_store, self.overview = counted_store, overview

    def __getattr__(self, name):
        value = getattr(self.overview, name)
        if asyncio.iscoroutinefunction(value):
            return self.counted_store.counted(name, value)
        return None if value is None else CountedOverview(self.counted_store, value)  # a part of the overview
