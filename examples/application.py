"""A script with a scheduler inside: it runs a report now, and would run it every Friday if it stayed."""

import asyncio

from kron import Scheduler

scheduler = Scheduler("sqlite:jobs.db")


@scheduler.job("weekly on friday around 17:00", timezone="Europe/Paris", overlap="skip")
async def report() -> None:
    """An async function runs in the event loop."""
    print("the report is written")


@scheduler.cron("0 3 * * *", timezone="Europe/Paris", retry_delay="5m", args=("/tmp",))
def clean_up(folder: str) -> None:
    """A plain function runs in a thread."""
    print(f"{folder} is clean")


async def main() -> None:
    async with scheduler:
        await scheduler.trigger("report")
        await scheduler.trigger("clean_up")
        await asyncio.sleep(2)
        if coming := await scheduler.next("report"):
            print(coming.strftime("next on a %A"))


asyncio.run(main())
