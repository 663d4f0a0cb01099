"""The target: takes what is posted, writes down its effect before it answers, and reports when it is done.

    python -m tests.campaigns.chaos.receiver PORT DATABASE-URL LOG SEED

It is slow at times, full at others, and sometimes hangs up without an answer, before or after the effect.
"""

import asyncio
import json
import os
import random
import sys
import time

from kron import KronError
from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from kron.rules.launch_result import Report


class Receiver:
    """What it has seen it has seen: a key has one effect, however often it comes."""

    def __init__(self, registrar, log, chance):
        self.registrar, self.chance = registrar, chance
        self.log = os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        self.seen, self.going = set(), set()

    async def serve(self, reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = int(head.lower().partition(b"content-length:")[2].split()[0])
                if not await self._take(json.loads(await reader.readexactly(size)), writer):
                    break
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    async def _take(self, asked, writer):
        luck = self.chance.random()
        if luck < 0.01:
            return False  # hangs up before the effect
        if luck < 0.03:
            return self._answer(writer, 503)
        if asked["not_after"] < time.time() * 1000:
            return self._answer(writer, 410)
        fresh = asked["key"] not in self.seen
        self.seen.add(asked["key"])
        self._write([asked["key"], asked["attempt"], time.time(), fresh])
        if fresh or self.chance.random() < 0.5:
            task = asyncio.create_task(self._report(asked))
            self.going.add(task)
            task.add_done_callback(self.going.discard)
        if luck < 0.04:
            return False  # hangs up after it
        if luck < 0.045:
            await asyncio.sleep(4)  # longer than anybody waits
        elif luck < 0.1:
            await asyncio.sleep(self.chance.random())
        return self._answer(writer, 200)

    def _answer(self, writer, status):
        writer.write(b"HTTP/1.1 %d x\r\ncontent-length: 0\r\n\r\n" % status)
        return True

    def _write(self, line):
        os.write(self.log, (json.dumps(line) + "\n").encode())

    async def _report(self, asked):
        await asyncio.sleep(self.chance.random() * 3)
        if self.chance.random() < 0.02:
            return  # dies without a word
        report = self.chance.choice([Report.SUCCESS, Report.SUCCESS, Report.SUCCESS, Report.FAILED])
        for _ in range(8):
            try:
                await self.registrar.report(asked["key"], report, asked["attempt"])
                return
            except KronError:
                await asyncio.sleep(self.chance.random() * 4)


async def main(port, url, log, seed):
    async with open_store(url) as store:
        receiver = Receiver(Registrar(store), log, random.Random(seed))
        server = await asyncio.start_server(receiver.serve, "127.0.0.1", int(port))
        async with server:
            await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
