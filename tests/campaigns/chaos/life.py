"""One life of a worker: `python -m tests.campaigns.chaos.life DATABASE-URL RECEIVER-PORT OWNER LOG`."""

import asyncio
import json
import os
import signal
import sys

from kron.apps.wiring import open_store
from kron.engine.clock import SystemTimer
from kron.engine.events import line
from kron.engine.failpoint import fail_point
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.rules.launch_result import LaunchResult

KEPT = {"launch_fenced", "launch_withheld", "pass_failed"}


class Post:
    """A launcher that posts to the receiver."""

    def __init__(self, port):
        self.port = port

    async def start(self, launch):
        run = launch.run
        body = json.dumps({"key": run.key, "attempt": run.attempt, "not_after": launch.not_after}).encode()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return LaunchResult.RETRYABLE  # nothing was sent
        try:
            writer.write(b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body))
            await writer.drain()
            fail_point("K5")
            writer.write(body)
            head = await reader.readuntil(b"\r\n\r\n")
            fail_point("K6")
            status = int(head.split()[1])
        finally:
            writer.close()
        return {200: LaunchResult.OK, 410: LaunchResult.RETRYABLE, 503: LaunchResult.RETRYABLE}.get(
            status, LaunchResult.REJECTED
        )

    async def cancel(self, run):
        pass


def settings(lease):
    """Leases short enough to run out while somebody watches."""
    shares = {"tick": lease // 18, "shard_lease": lease * 4 // 9, "timeout": lease // 3, "backoff": lease}
    return Settings(batch=500, lookahead=10_000, max_concurrent_launches=50, lease=lease, **shares)


async def main(url, port, owner, log, lease=9_000):
    file = os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY)

    def hear(event):
        if event.name in KEPT:
            os.write(file, (line(event) + "\n").encode())

    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_store(url) as store:
        how = settings(int(lease))
        worker = Worker(store, {"post": Post(int(port))}, SystemTimer(), owner=owner, settings=how, sink=hear)
        await worker.run(stop)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
