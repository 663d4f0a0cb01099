"""The receiver of the burst: writes down each call, and answers it after a delay.

    python -m tests.campaigns.burst_receiver PORT OTHER-PORT LOG SECONDS [hang]

With `hang`, what comes to the other port is never answered. A line of the log is a key and when its call was there.
"""

import asyncio
import os
import signal
import sys
import time

ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
FLUSH = 0.2  # seconds between two writes of the log
BACKLOG = 4_096


class Call(asyncio.Protocol):
    """A connection. A client sends its next request when it has the answer to the last."""

    def __init__(self, lines, delay):
        self.lines, self.delay, self.buffer = lines, delay, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.buffer += data
        head, ended, body = self.buffer.partition(b"\r\n\r\n")
        if not ended or len(body) < int(_header(head, b"content-length")):
            return
        key, self.buffer = _header(head, b"webhook-id"), b""
        assert b'"key":"%b"' % key in body, "the body has another key"
        self.lines.append(b"%b %.3f\n" % (key, time.time()))
        if self.delay is not None:
            asyncio.get_running_loop().call_later(self.delay, self.transport.write, ANSWER)


def _header(head, name):
    return head.lower().partition(b"\r\n" + name + b":")[2].partition(b"\r\n")[0].strip()


async def main(port, other, log, seconds, *words):
    loop, lines, stop = asyncio.get_running_loop(), [], asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    for number, delay in ((port, float(seconds)), (other, None if "hang" in words else float(seconds))):
        await loop.create_server(lambda delay=delay: Call(lines, delay), "0.0.0.0", int(number), backlog=BACKLOG)
    file = os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    while not stop.is_set() or lines:
        os.write(file, b"".join(lines))
        lines.clear()
        await asyncio.sleep(FLUSH)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
