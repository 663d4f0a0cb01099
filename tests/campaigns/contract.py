"""Schemathesis over the interface as it is written down: `make schemathesis`.

    python -m tests.campaigns.contract [--cases 10000] [--seed N]

A real service with tokens and tenants, on a real PostgreSQL. Whatever is sent, right or wrong, the answer is one that
the interface says: no failure, no other status, no other type, no other shape.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from kron.apps.service.app import interface
from tests.postgres import free_port, running
from tests.service.http import LOOPBACK, SECRET, Service, until
from tests.service.test_config import ready
from tests.service.tokens import settings, token

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = Path(sys.executable).parent
PHASES = "examples,coverage,fuzzing,stateful"
# What is not asked: that all which fits the shape is taken. A text of the right length may still be no schedule.
LEFT_OUT = "positive_data_acceptance"


@contextmanager
def served(database, folder):
    """A service in a process of its own; its URL."""
    port = free_port()
    (folder / "workflows").mkdir(exist_ok=True)
    said = settings(
        folder, store=database, listen=f"127.0.0.1:{port}", webhook_secret=SECRET, webhook_allow_plain_http="true"
    )
    said |= {
        "webhook_allowed_networks": LOOPBACK[0],
        "workflow_store": str(folder / "workflows"),
        "executor_url": "http://127.0.0.1:9/",
    }
    said |= {"max_schedules_per_tenant": "1000000", "max_triggers_per_minute": "1000000"}
    env = {**os.environ, **{f"KRON_{name.upper()}": str(value) for name, value in said.items()}}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([str(PROGRAMS / "kron"), "serve"], env=env, stderr=log)
    try:
        until(lambda: ready(Service(port, None)), 30)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def examine(url, folder, examples, seed, phases=PHASES):
    """Run schemathesis: its report, and its words."""
    written, report = folder / "openapi.json", folder / "report.json"
    written.write_text(json.dumps(interface()))
    command = [PROGRAMS / "schemathesis", "run", written, "--url", url, "--phases", phases, "--seed", seed]
    command += ["--header", f"Authorization: Bearer {token('acme')}", "--max-examples", examples]
    command += ["--exclude-checks", LEFT_OUT, "--workers", 1]  # with several, Python 3.11 may fail in `ast.parse`
    command += ["--exclude-path", "/v1/events"]  # whose answer goes on and on
    command += ["--continue-on-failure", "--warnings", "off", "--no-color", "--generation-database", "none"]
    env = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.campaigns.contract_words", "PYTHONPATH": str(ROOT)}
    command += ["--report-json-path", report]
    done = subprocess.run(list(map(str, command)), cwd=folder, env=env, capture_output=True, text=True)
    return (json.loads(report.read_text()) if report.exists() else {}), done.stdout + done.stderr


def flaws(report):
    """What was found: failures, errors, and operations that were not reached."""
    if not report:
        return ["it did not run"]
    found = [f"{each['title']}: {', '.join(each['operations'])}" for each in report["failures"]]
    found += [f"{each['title']}: {each['count']}" for each in report["errors"]]
    asked = report["operations"]
    return found + ([] if asked["tested"] == asked["selected"] else [f"only {asked['tested']} operations"])


def main(args):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    given = parser.parse_args(args)
    operations = sum(len(each) for each in interface()["paths"].values())
    examples = given.cases * 5 // (operations * 4)  # of some operations there are not so many different ones
    with running() as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(server.url(server.database()), folder) as url:
            report, words = examine(url, folder, examples, given.seed)
    found = flaws(report)
    cases = report["test_cases"]["generated"] if report else 0
    if cases < given.cases:
        found.append(f"only {cases} cases")
    if found:
        print(words)
    print(*found, sep="\n", end="\n" if found else "")
    verdict = "FAIL" if found else "PASS"
    print(f"{verdict}: {cases} cases of {operations} operations, {len(found)} flaws; seed {given.seed}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
