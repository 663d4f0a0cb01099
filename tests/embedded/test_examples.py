"""The examples run."""

import asyncio
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("application.py", {"the report is written", "/tmp is clean", "next on a Friday"}),
        ("declarative.py", {"alive"}),
    ],
)
def test_a_script(name, printed, tmp_path):
    command = [sys.executable, str(EXAMPLES / name)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert set(result.stdout.splitlines()) == printed, result.stderr
    assert result.returncode == 0


def test_a_web_application(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = runpy.run_path(str(EXAMPLES / "asgi.py"))["app"]

    async def script():
        inbox, sent = asyncio.Queue(), []

        async def send(message):
            sent.append(message)

        server = asyncio.create_task(app({"type": "lifespan"}, inbox.get, send))
        await inbox.put({"type": "lifespan.startup"})
        async with asyncio.timeout(20):
            while not sent:
                await asyncio.sleep(0.01)
        await app({"type": "http"}, inbox.get, send)
        await inbox.put({"type": "lifespan.shutdown"})
        await server
        return sent

    started, head, body, ended = asyncio.run(script())
    assert (started["type"], head["status"]) == ("lifespan.startup.complete", 200)
    assert body["body"].startswith(b"20")
    assert ended["type"] == "lifespan.shutdown.complete"
