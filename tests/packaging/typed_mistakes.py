"""Calls that a type checker must report, one on each marked line. No test imports this file."""

from kron import Scheduler, parse
from kron.client import Client

scheduler = Scheduler("memory:")


@scheduler.job("daily")
def clean_up(folder: str) -> int:
    return len(folder)


@scheduler.job("daily")
async def report(year: int) -> str:
    return str(year)


clean_up(7)  # wrong: arg-type
clean_up()  # wrong: call-arg
words: str = clean_up("/tmp")  # wrong: assignment


async def main() -> int:
    await report("2026")  # wrong: arg-type
    return await report(2026)  # wrong: return-value


scheduler.job("daily", overlap=3)  # wrong: arg-type
scheduler.job("daily", overlapping="skip")  # wrong: call-arg
parse(7, dialect="kron")  # wrong: arg-type
Client("http://127.0.0.1:8080").get("report")["revisions"]  # wrong: typeddict-item
