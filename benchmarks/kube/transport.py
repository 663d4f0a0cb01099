"""CPU time of a request to the Kubernetes API over TLS: the default transport of httpx2 next to Kron's own.

    python -m benchmarks.kube.transport

A server in another process answers each request with the Job that it was given. Rounds of both transports alternate.
Fails if Kron's transport needs more than 0.8 of the CPU time of the default one.
"""

from __future__ import annotations

import asyncio
import gc
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2
from tests.service.certificates import Authority

from benchmarks.kube.objects import TEMPLATE
from kron.kube.api import Api
from kron.kube.kind import JOB, Body
from kron.kube.transport import DirectTransport

ROUNDS, REQUESTS, CONCURRENT = 9, 1_000, 20
MAX_SHARE = 0.8
DEFAULT, OURS = "httpx2's default transport", "Kron's transport"


def job(number: int) -> Body:
    """Return a Job as the operator creates it."""
    annotations = {f"kron.io/{name}": f"{number:064}" for name in ("key", "period-id", "chosen", "seed-hash")}
    metadata = {"name": f"report-{number:05}", "namespace": "shop", "annotations": annotations}
    return {"apiVersion": JOB.api_version, "kind": JOB.name, "metadata": metadata, **TEMPLATE}


async def measured(port: int, tls: ssl.SSLContext, name: str) -> float:
    """Return the CPU time of a request in milliseconds."""
    url = httpx2.URL(f"https://127.0.0.1:{port}")
    options = {"transport": DirectTransport(url, tls)} if name == OURS else {"verify": tls}
    api = Api(httpx2.AsyncClient(base_url=url, trust_env=False, **options))
    numbers = iter(range(REQUESTS))

    async def some() -> None:
        for number in numbers:
            await api.create(JOB, "shop", job(number))

    await asyncio.gather(*(api.create(JOB, "shop", job(0)) for _ in range(CONCURRENT)))  # opens the connections
    gc.collect()
    began = time.process_time()
    await asyncio.gather(*(some() for _ in range(CONCURRENT)))
    seconds = time.process_time() - began
    await api.close()
    return seconds / REQUESTS * 1000


async def serve(certificate: str, key: str) -> None:
    """Answer requests until this process is stopped."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
            body = await reader.readexactly(int(fields[b"content-length"]))
            start = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            writer.write(start + body)

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main(words: list[str]) -> int:
    """Serve, or measure both transports and print the ratio."""
    if words:
        asyncio.run(serve(*words))
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder))
        paths = map(str, authority.issue("server"))
        words = [sys.executable, "-m", "benchmarks.kube.transport", *paths]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            try:
                port = int(server.stdout.readline() if server.stdout else 0)
                return _compare(port, str(authority.path))
            finally:
                server.kill()


def _compare(port: int, authority: str) -> int:
    times: dict[str, list[float]] = {DEFAULT: [], OURS: []}
    for _ in range(ROUNDS):
        for name, found in times.items():
            found.append(asyncio.run(measured(port, ssl.create_default_context(cafile=authority), name)))
    for name, found in times.items():
        print(f"{name:28} {statistics.median(found):.2f} ms CPU per request ({min(found):.2f}–{max(found):.2f})")
    share = statistics.median(times[OURS]) / statistics.median(times[DEFAULT])
    is_reached = share <= MAX_SHARE
    print(f"{'PASS' if is_reached else 'FAIL'}: {share:.2f} of the CPU time of the default transport (<= {MAX_SHARE})")
    return 0 if is_reached else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
