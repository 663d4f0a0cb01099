"""Tasks as data: all of them are handed over at once, and what has happened to them is remembered in a file."""

import asyncio
from datetime import timedelta

from kron import DeclarativeScheduler


async def main() -> None:
    beaten = asyncio.Event()

    async def heartbeat() -> None:
        print("alive")
        beaten.set()

    scheduler = DeclarativeScheduler("sqlite:scheduler.db")
    await scheduler.initialize(
        [
            ("heartbeat", "* * * * *", heartbeat, timedelta(seconds=30)),
            ("report", "0 17 * * 5", heartbeat, timedelta(minutes=5)),
        ]
    )
    await beaten.wait()  # an application would do its work here
    await scheduler.stop()


asyncio.run(main())
