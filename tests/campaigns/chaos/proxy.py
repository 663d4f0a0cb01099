"""The road between one worker and the database, which can be blocked one way or both."""

import asyncio


class Proxy:
    """Passes bytes on, unless the road is blocked: then they are swallowed, and nobody is told."""

    def __init__(self, port):
        self.port, self.blocked, self.own = port, frozenset(), 0
        self.lines = set()

    async def open(self):
        self.server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.own = self.server.sockets[0].getsockname()[1]
        return self

    def block(self, *ways):
        """Block the way `there`, the way `back`, or both; or none, and then what was blocked is lost for good."""
        if self.blocked and not ways:
            for line in list(self.lines):
                line.abort()
        self.blocked = frozenset(ways)

    async def close(self):
        self.server.close()
        for line in list(self.lines):
            line.abort()
        for _ in range(20):  # until who waits for a line has learnt that it is gone
            if self.lines:
                await asyncio.sleep(0.05)

    async def _accept(self, reader, writer):
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            writer.transport.abort()
            return
        lines = {writer.transport, back.transport}
        self.lines |= lines
        try:
            await asyncio.gather(self._pass("there", reader, back), self._pass("back", there, writer))
        finally:
            for line in lines:
                line.abort()
            self.lines -= lines

    async def _pass(self, way, reader, writer):
        try:
            while octets := await reader.read(1 << 16):
                if way not in self.blocked:
                    writer.write(octets)
                    await writer.drain()
        except OSError:
            pass
        finally:
            writer.transport.abort()
