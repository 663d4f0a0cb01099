"""The page on the service: its first section is run as it stands, and its tables are what the code says."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import pytest

from kron.apps.service.app import make_app
from kron.apps.service.caller import scope_of
from kron.apps.service.config import Config
from tests.docs.page import ROOT, blocks, table
from tests.service.http import config
from tests.service.test_config import free_port

PAGE, SECURITY = ROOT / "docs" / "service.md", ROOT / "docs" / "security.md"


def test_from_nothing_to_a_webhook(tmp_path):
    """Each block of commands, in one shell; what it prints is the block that follows, where … stands for anything."""
    found = blocks(PAGE)
    (settings,) = [block.text for block in found if block.language == "toml"]
    ports = {"8080": str(free_port()), "9000": str(free_port())}
    (tmp_path / "kron.toml").write_text(settings + f'listen = "127.0.0.1:{ports["8080"]}"\n')
    (tmp_path / "receiver.py").write_text((ROOT / "examples" / "receiver.py").read_text())
    steps = [(b, after) for b, after in pairwise(found) if b.language == "sh" and "pip" not in b.text]
    script = "".join(f"echo '=== {n}'\n{step.text}" for n, (step, _) in enumerate(steps))
    for port, other in ports.items():
        script = script.replace(f":{port}", f":{other}").replace(f" {port} ", f" {other} ")
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    env["KRON_URL"] = f"http://127.0.0.1:{ports['8080']}"
    shell = subprocess.Popen(
        ["bash", "-c", script + "kill $(jobs -p)\n"],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = shell.communicate(timeout=90)
    finally:
        if shell.poll() is None:
            os.killpg(shell.pid, signal.SIGKILL)
    outputs = re.split(r"=== \d+\n", printed)[1:]
    assert len(outputs) == len(steps) >= 5
    for (step, shown), output in zip(steps, outputs, strict=True):
        if shown.language in ("json", "text"):
            pattern = "(?s)" + re.escape(shown.text.strip()).replace("…", ".*?")
            assert re.fullmatch(pattern, output.strip()), f"{PAGE.name}:{step.line}\n{output}"


def test_the_table_of_routes_is_the_application():
    routes = {
        f"{method} {route.path}": scope_of(route) or ""
        for route in make_app(config()).routes
        if hasattr(route, "dependant")
        for method in route.methods
    }
    assert {row[0]: row[1] for row in table(PAGE, "routes")} == routes


def test_the_table_of_settings_is_the_configuration():
    def written(value):
        return str(value).lower() if isinstance(value, bool) else "" if value == () else str(value)

    known = {each.name.upper(): written(each.default) for each in fields(Config)}
    assert {row[0]: row[1] for row in table(PAGE, "settings")} == known


@pytest.mark.parametrize("row", table(SECURITY, "controls"), ids=lambda row: row[0])
def test_each_control_has_a_test_that_is_there(row):
    name, _, function = row[2].partition("::")
    assert f"def {function}(" in (ROOT / "tests" / "service" / name).read_text(encoding="utf-8")
