"""The receiver of the burst: writes down each call, and answers it after a delay.

    python -m tests.campaigns.burst_receiver PORT OTHER-PORT LOG SECONDS [hang | error | refuse]

What comes to the other port is never answered, answered with an error, or refused: there is no such port. A line of the
log is a key and when its call was there.
"""

import asyncio
import os
import signal
import sys
import time
from functools import partial

ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
ERROR = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
FLUSH = 0.2  # seconds between two writes of the log
BACKLOG = 4_096


class Call(asyncio.Protocol):
    """A connection. A client sends its next request when it has the answer to the last."""

    def __init__(self, lines, delay, answer):
        self.lines, self.delay, self.answer, self.buffer = lines, delay, answer, b""

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
        if self.answer:
            asyncio.get_running_loop().call_later(self.delay, self.transport.write, self.answer)


def _header(head, name):
    return head.lower().partition(b"\r\n" + name + b":")[2].partition(b"\r\n")[0].strip()


async def main(port, other, log, seconds, trouble=""):
    loop, lines, stop = asyncio.get_running_loop(), [], asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    answers = {int(port): ANSWER, int(other): {"hang": b"", "error": ERROR}.get(trouble, ANSWER)}
    if trouble == "refuse":
        del answers[int(other)]
    for number, answer in answers.items():
        make = partial(Call, lines, float(seconds), answer)
        await loop.create_server(make, "0.0.0.0", number, backlog=BACKLOG)
    file = os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    while not stop.is_set() or lines:
        os.write(file, b"".join(lines))
        lines.clear()
        await asyncio.sleep(FLUSH)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
