"""Tutorials that need real processes: the shell blocks of a page are run in order, and print what the page shows."""

import os
import re
import shutil
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.docs.page import ROOT, Block, blocks
from tests.docs.shell import end_session
from tests.postgres import BINARIES, free_port

STARTED = ROOT / "docs" / "get-started"


def steps_of(page: Path) -> list[tuple[Block, str]]:
    """Each `sh` block, and what it prints if the next block shows that. Installing is left out."""
    found = blocks(page)
    return [
        (block, following.text if following and following.language in ("json", "text") else "…")
        for block, following in zip_longest(found, found[1:])
        if block.language == "sh" and "pip install" not in block.text
    ]


def follow(
    page: Path, folder: Path, changed: dict[str, str], env: dict[str, str], timeout: float, before: str = ""
) -> None:
    """Run the blocks of a page in one shell, after `before`.

    `…` in an output stands for anything; `changed` replaces addresses.
    """
    shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
    steps = steps_of(page)
    script = "set -m\n" + before + "".join(f"echo '=== {n}'\n{step.text}" for n, (step, _) in enumerate(steps))
    for old, new in changed.items():
        script = script.replace(old, new)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}:{BINARIES}"
    errors = folder / "stderr"
    with errors.open("w", encoding="utf-8") as file:
        shell = subprocess.Popen(
            ["bash", "-c", script + "kill $(jobs -p) 2> /dev/null\n"],
            cwd=folder,
            env={**os.environ, "PATH": path, "NO_COLOR": "1", **env},
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            start_new_session=True,
        )
        try:
            printed, _ = shell.communicate(timeout=timeout)
        finally:
            end_session(shell.pid)
    failures = errors.read_text(encoding="utf-8")
    outputs = re.split(r"=== \d+\n", printed)[1:]
    assert len(outputs) == len(steps) >= 5, printed + failures
    assert not re.search(r"Traceback|^(?:error|usage)[:\[]|command not found", failures, re.MULTILINE), failures
    for (step, shown), output in zip(steps, outputs, strict=True):
        pattern = "(?s)" + re.escape(shown.strip()).replace("…", ".*?")
        assert re.fullmatch(pattern, output.strip()), f"{page.name}:{step.line}\n{output}\n{failures}"


def test_service_tutorial_prints_what_it_shows(tmp_path):
    ports = {"8080": str(free_port()), "9000": str(free_port())}
    changed = {"127.0.0.1:8080": f"127.0.0.1:{ports['8080']}", ":9000/": f":{ports['9000']}/"}
    changed["receiver.py 9000"] = f"receiver.py {ports['9000']}"
    env = {"KRON_URL": f"http://127.0.0.1:{ports['8080']}", "KRON_LISTEN": f"127.0.0.1:{ports['8080']}"}
    follow(STARTED / "service.md", tmp_path, changed, env, timeout=90)


def test_schedules_as_code_print_what_the_page_shows(tmp_path):
    address = f"127.0.0.1:{free_port()}"
    begin = f"""
        kron serve --auth none --listen {address} --set WEBHOOK_SECRET=whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD &
        curl --silent --fail --retry 60 --retry-delay 1 --retry-connrefused http://{address}/readyz
    """
    page = ROOT / "docs" / "how-to" / "manage-as-code.md"
    follow(page, tmp_path, {}, {"KRON_URL": f"http://{address}"}, timeout=90, before=begin)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["django", "fastapi", "flask"])
def test_framework_guide_prints_what_it_shows(tmp_path, name):
    port = str(free_port())
    changed = {":8000": f":{port}", "--port 8000": f"--port {port}", "--noreload 8000": f"--noreload {port}"}
    follow(ROOT / "docs" / "how-to" / f"{name}.md", tmp_path, changed, {}, timeout=200)


@pytest.mark.slow
def test_krond_tutorial_prints_what_it_shows(tmp_path):
    home = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"), "")
    follow(STARTED / "krond.md", tmp_path, {}, {"HOME": str(tmp_path), **home}, timeout=200)
    log = (tmp_path / "krond.log").read_text(encoding="utf-8")
    assert log.count("event=krond_started") == 2 and log.count("event=krond_stopped") == 1, log


@pytest.mark.first
@pytest.mark.slow
def test_commands_tutorial_prints_what_it_shows(tmp_path, server):
    changed = {"127.0.0.1:5432": f"127.0.0.1:{server.port}", "--port 5432": f"--port {server.port}"}
    try:
        follow(STARTED / "commands.md", tmp_path, changed, {}, timeout=400)
    finally:
        server.sql("DROP DATABASE IF EXISTS kron WITH (FORCE)")
