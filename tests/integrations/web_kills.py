"""Web servers, one PostgreSQL, random kills: `python -m tests.integrations.web_kills [MINUTES]`.

Four uvicorn processes with FastAPI and four Gunicorn workers with Flask share 200 jobs, each due every 10 seconds. Half
of the jobs are created by requests while processes are killed with SIGKILL. Gunicorn replaces its workers; the campaign
starts another uvicorn. Then every period up to the end must have one record, and have succeeded.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from kron.apps.wiring import open_store
from kron.engine.audit import audit
from kron.rules.run import Run
from kron.rules.run_state import State
from tests.embedded.together import Campaign, Examination, _summary
from tests.integrations.web import WebServer, gunicorn, uvicorn
from tests.integrations.web_jobs import APPLICATIONS, LEASE_SECONDS, names
from tests.postgres import free_port, running

PROCESSES = 4  # of each server
BETWEEN = (1.0, 4.0)  # seconds from one kill to the next
MAX_SETTLE_SECONDS = 180.0  # until the last period has ended
JOBS = [name for application in APPLICATIONS for kind in ("declared", "created") for name in names(application, kind)]


class WebCampaign(Campaign):
    """Keeps four uvicorn processes and one Gunicorn going, and creates jobs through them."""

    def __init__(self, url: str, folder: Path, seed: int) -> None:
        super().__init__(url, LEASE_SECONDS * 1000, folder, seed)
        self.env = {"STORE": url, "JOURNAL": str(self.journal)}
        self.apis = [self.api(free_port()) for _ in range(PROCESSES)]
        (folder / "gunicorn.conf.py").write_text("from kron.integrations.flask import post_worker_init\n")
        port, workers = free_port(), ("--workers", str(PROCESSES), "--threads", "4")
        self.web = WebServer(
            gunicorn("tests.integrations.flask_app:app", port, *workers), port, folder, "web.log", **self.env
        )
        self.waiting = {app: names(app, "created") for app in APPLICATIONS}  # jobs that are not created yet
        self.repeated = 0  # requests without a response, which were sent again

    def api(self, port: int) -> WebServer:
        command = uvicorn("tests.integrations.fastapi_app:app", port)
        return WebServer(command, port, self.folder, "api.log", **self.env)

    def trouble(self, seconds: float) -> None:
        """Kill one now and then, and create the jobs in the first half of the time."""
        for server in (*self.apis, self.web):
            server.wait()
        began, total = time.monotonic(), sum(map(len, self.waiting.values()))
        while (passed := time.monotonic() - began) < seconds:
            self.kill()
            pause = time.monotonic() + self.random.uniform(*BETWEEN)
            while time.monotonic() < pause:
                created = total - sum(map(len, self.waiting.values()))
                if created < min(total, total * 2 * passed / seconds):
                    self.create()
                else:
                    time.sleep(0.05)
        limit = time.monotonic() + MAX_SETTLE_SECONDS
        while any(self.waiting.values()) and time.monotonic() < limit:
            self.create()

    def kill(self) -> None:
        """Kill one of the eight processes."""
        number = self.random.randrange(2 * PROCESSES)
        if number < PROCESSES:
            server = self.apis[number]
            server.process.kill()
            server.process.wait()
            self.killed.add(server.process.pid)
            self.apis[number] = self.api(server.port)
        elif workers := self.web.children():
            pid = self.random.choice(workers)
            os.kill(pid, signal.SIGKILL)
            self.killed.add(pid)

    def create(self) -> None:
        """Send one request for a job. It is sent again later if its process dies or has not started yet."""
        app = self.random.choice([app for app, waiting in self.waiting.items() if waiting])
        server = self.web if app == "web" else self.random.choice(self.apis)
        try:
            status, _ = server.ask(f"/jobs/{self.waiting[app][0]}", {})
        except OSError:
            status = 0
        if status == 200:
            self.waiting[app].pop(0)
        else:
            self.repeated += 1
            time.sleep(0.1)

    def close(self) -> None:
        """End all servers, as a deployment does."""
        servers = [*self.apis, self.web]
        for server in servers:
            server.process.send_signal(signal.SIGTERM)
        limit = time.monotonic() + 60
        while any(server.process.poll() is None for server in servers) and time.monotonic() < limit:
            time.sleep(0.1)
        for server in servers:
            server.close()


class WebExamination(Examination):
    """The database compared with what the jobs noted. Every period up to `end` must have succeeded."""

    async def look(self, url: str) -> None:
        async with open_store(url) as store:
            async for found in audit(store, JOBS):
                self.periods += found.periods
                if not found.sound:
                    self.wrong.append(f"{found.identity}: unexplained {found.unexplained}, twice {found.twice}")
                self.runs += await store.runs(found.identity, 1_000_000)

    def succeeded(self, end: float) -> None:
        """Note every job without a run, and every run up to `end` that did not succeed."""
        self.wrong += [f"{name} never ran" for name in sorted({*JOBS} - {run.identity for run in self.runs})]
        for run in self.runs:
            if run.nominal <= end and run.state is not State.SUCCESS:
                self.wrong.append(f"{run.identity} {run.nominal} is {run.state} ({run.reason}), attempt {run.attempt}")


async def open_runs(url: str, end: float) -> list[Run]:
    """Runs of periods up to `end` that have not ended."""
    async with open_store(url) as store:
        runs = [run for name in JOBS for run in await store.runs(name, 1_000_000)]
    return [run for run in runs if run.nominal <= end and run.open]


def settle(url: str) -> float:
    """Wait until the periods up to now have ended, and return now."""
    end, limit = time.time(), time.monotonic() + MAX_SETTLE_SECONDS
    time.sleep(2 * LEASE_SECONDS)  # until the shards of the last killed process have been taken over
    while asyncio.run(open_runs(url, end)) and time.monotonic() < limit:
        time.sleep(2)
    return end


def main(minutes: float = 10, seed: float = 1) -> int:
    """Let them work for so long, and print what came of it; 1 if the two accounts differ."""
    seconds = minutes * 60
    with tempfile.TemporaryDirectory() as folder, running() as server:
        url = server.url(server.database())
        campaign = WebCampaign(url, Path(folder), int(seed))
        try:
            campaign.trouble(seconds)
            end = settle(url)
        finally:
            campaign.close()
        examination = WebExamination(campaign.works(), campaign.deaths, campaign.killed)
        asyncio.run(examination.look(url))
    examination.examine()
    examination.succeeded(end)
    for wrong in examination.wrong[:20]:
        print(wrong)
    print(_summary(examination))
    left = sum(map(len, campaign.waiting.values()))
    good = not examination.wrong and not left and len(campaign.killed) >= seconds / 6
    print(
        f"{'PASS' if good else 'FAIL'}: {2 * PROCESSES} processes for {seconds:.0f} s, {len(campaign.killed)} killed;"
        f" {len(JOBS)} jobs, {len(JOBS) // 2 - left} of them created by requests ({campaign.repeated} sent again);"
        f" {examination.periods} periods, {len(examination.wrong)} violations"
    )
    return int(not good)


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:])))
