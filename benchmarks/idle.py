"""What an idle worker costs its database: round trips a second, counted on the wire, and CPU.

`python -m benchmarks.idle [SECONDS]` starts a PostgreSQL, a `kron worker` with 1,000 schedules that are not due, and a
proxy between the two that counts what the worker asks: each Query or Sync message is a round trip.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.postgres import running

from kron import parse
from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from kron.rules.pause import Actor
from kron.timing.job import Job

SCHEDULES = 1_000
MOST = 4.0  # round trips a second
SETTLING = 5  # seconds until it counts


class Proxy:
    """Passes on, and counts."""

    def __init__(self, port: int) -> None:
        self.port, self.trips = port, 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the worker."""
        back, forth = await asyncio.open_connection("127.0.0.1", self.port)
        await asyncio.wait(
            {asyncio.create_task(self._counted(reader, forth)), asyncio.create_task(self._passed(back, writer))},
            return_when=asyncio.FIRST_COMPLETED,
        )
        forth.close()
        writer.close()

    async def _counted(self, reader: asyncio.StreamReader, forth: asyncio.StreamWriter) -> None:
        kind = b""  # the first message has none
        while True:
            try:
                size = await reader.readexactly(4)
                body = await reader.readexactly(int.from_bytes(size, "big") - 4)
            except asyncio.IncompleteReadError:
                return
            self.trips += kind in (b"Q", b"S")
            forth.write(kind + size + body)
            asked_for_tls = not kind and body[:4] in (b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30")
            if asked_for_tls:
                continue
            kind = await reader.read(1)
            if not kind:
                return

    async def _passed(self, back: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while some := await back.read(65_536):
            writer.write(some)


async def measure(port: int, database: str, seconds: int) -> tuple[float, float]:
    """Round trips a second of an idle worker, and the share of a core that it takes."""
    async with open_store(f"postgresql://postgres@127.0.0.1:{port}/{database}") as store:
        jobs = [Job(f"job/{n}", parse("0 0 1 1 *", dialect="posix"), target="python:pass") for n in range(SCHEDULES)]
        await Registrar(store).upsert_all([(job, Actor("benchmark")) for job in jobs])
    proxy = Proxy(port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    url = f"postgresql://postgres@127.0.0.1:{server.sockets[0].getsockname()[1]}/{database}?sslmode=disable&gssencmode=disable"
    quiet = asyncio.subprocess.DEVNULL
    command = str(Path(sys.executable).with_name("kron"))
    worker = await asyncio.create_subprocess_exec(command, "worker", "--store", url, stdout=quiet, stderr=quiet)
    await asyncio.sleep(SETTLING)
    before, spent = proxy.trips, _cpu(worker.pid)
    await asyncio.sleep(seconds)
    trips, spent = proxy.trips - before, _cpu(worker.pid) - spent
    worker.terminate()
    await worker.wait()
    server.close()
    return trips / seconds, spent / seconds


def _cpu(pid: int) -> float:
    """Seconds of CPU that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def main() -> int:
    """Measure, print, and say whether it is within the bound."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with running() as server:
        trips, cores = asyncio.run(measure(server.port, server.database(), seconds))
    print(f"{trips:.1f} round trips/s, {cores * 100:.1f} % of a core, {SCHEDULES} schedules, none due, {seconds} s")
    print(f"verdict: {'within' if trips <= MOST else 'ABOVE'} the bound of {MOST:g} round trips/s")
    return int(trips > MOST)


if __name__ == "__main__":
    sys.exit(main())
