"""How fast the service is: definitions one by one and in bulk, reads, and webhooks that fall due in one second.

`make bench-service`; with a store in `KRON_BENCH_STORE`, or in memory.
"""

import asyncio
import json
import os
import threading
import time
from http.client import HTTPConnection

from tests.service.http import serving

COUNT, WEBHOOKS = 2_000, 1_000


def body(number: int, target: str, schedule: str = "0 9 * * *") -> bytes:
    """A line of a bulk."""
    return json.dumps({"id": f"s{number}", "schedule": schedule, "target": target}).encode()


def bulk(port: int, lines: list[bytes]) -> float:
    """How many lines a second."""
    began = time.perf_counter()
    connection = HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("POST", "/v1/schedules:bulk", b"\n".join(lines), {"Content-Type": "application/x-ndjson"})
    answered = connection.getresponse().read().splitlines()
    assert all(json.loads(line)["status"] == 200 for line in answered) and len(answered) == len(lines)
    return len(lines) / (time.perf_counter() - began)


def each(port: int, method: str, path: str, text: bytes | None = None) -> float:
    """How many calls a second, one after another."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    began = time.perf_counter()
    for number in range(COUNT // 4):
        connection.request(method, path.format(number), text, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    return COUNT // 4 / (time.perf_counter() - began)


class Receiver:
    """Counts what comes, in a thread of its own."""

    def __init__(self) -> None:
        self.arrivals: list[float] = []
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=2000))
        self.port = self.server.sockets[0].getsockname()[1]
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one."""
        await reader.readuntil(b"\r\n\r\n")
        self.arrivals.append(time.time())
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()
        writer.close()


def webhooks(port: int, receiver: Receiver) -> str:
    """How late the webhooks of one second arrive."""
    soon = int(time.time()) + 8
    minute, second = soon // 60 % 60, soon % 60
    target = f"http://127.0.0.1:{receiver.port}/"
    bulk(port, [body(n, target, f"{second} {minute} * * * *") for n in range(WEBHOOKS)])
    while len(receiver.arrivals) < WEBHOOKS and time.time() < soon + 60:
        time.sleep(0.1)
    lateness = sorted(at - soon for at in receiver.arrivals)
    rate = len(lateness) / lateness[-1]
    middle, last = lateness[len(lateness) // 2], lateness[-1]
    return f"{len(lateness)} due in one second: median {middle:.2f} s late, the last {last:.2f} s ({rate:,.0f}/s)"


def main() -> None:
    """Measure, and print."""
    store = os.environ.get("KRON_BENCH_STORE", "memory:")
    with serving(store=store, worker=True, max_schedules_per_tenant=100_000) as service:
        text = json.dumps({"schedule": "0 9 * * *", "target": "http://127.0.0.1:9/"}).encode()
        print(f"store      {store.partition(':')[0]}")
        print(f"PUT        {each(service.port, 'PUT', '/v1/schedules/p{}', text):,.0f}/s, one connection")
        print(f"GET        {each(service.port, 'GET', '/v1/schedules/p{}'):,.0f}/s, one connection")
        print(
            f"bulk       {bulk(service.port, [body(n, 'http://127.0.0.1:9/') for n in range(COUNT)]):,.0f} schedules/s"
        )
        print(f"webhooks   {webhooks(service.port, Receiver())}")


if __name__ == "__main__":
    main()
