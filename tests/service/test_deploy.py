"""What `deploy/`, `Dockerfile` and `compose.yaml` say is true: as far as it can be without Docker, it is done."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml

from kron.apps.cli.commands.serve import FLAGS
from kron.apps.cli.commands.worker import FLAGS as WORKER_FLAGS
from kron.apps.cli.effective import flags_of
from kron.apps.cli.parser import parser
from kron.apps.service.config_reader import read_config
from tests.docs.page import ROOT
from tests.postgres import free_port, running
from tests.service.http import SECRET, Service, receiving, serving, until
from tests.service.test_config import ready
from tests.service.tokens import ISSUER, jwks, token

promql_parser = pytest.importorskip("promql_parser")

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
ALERTS = yaml.safe_load((ROOT / "deploy" / "alerts.yaml").read_text())
BOARD = json.loads((ROOT / "deploy" / "grafana.json").read_text())
OURS = ("api", "worker")
SECRETS = {"API_PASSWORD": "a", "WORKER_PASSWORD": "w", "OWNER_PASSWORD": "o", "WEBHOOK_SECRET": SECRET}
SECRETS |= {"AUDITOR_PASSWORD": "r", "ISSUER": ISSUER, "JWKS_FILE": "/jwks.json"}


def filled(text):
    """A value of compose.yaml with what the environment says."""
    return re.sub(r"\$\{(\w+)(:\?[^}]*)?\}", lambda found: SECRETS[found[1]], text)


def config_of(name, **environment):
    service = COMPOSE["services"][name]
    said = {key: filled(value) for key, value in service["environment"].items()} | environment
    args = parser().parse_args(service["command"])
    if args.command == "serve":
        return read_config(said, flags_of(args, FLAGS))
    args.lookahead_ms = args.max_clock_skew_ms = args.retention_days = None
    return read_config(said, flags_of(args, WORKER_FLAGS), worker=True)


def expressions():
    rules = [(rule["alert"], rule["expr"]) for group in ALERTS["groups"] for rule in group["rules"]]
    return rules + [(panel["title"], each["expr"]) for panel in BOARD["panels"] for each in panel["targets"]]


@pytest.fixture(scope="module")
def printed(server):
    """The names of all that /metrics prints, by a service on PostgreSQL."""
    name = server.database()
    with serving(store=server.url(name), run_worker=True, tick_ms=50) as service:
        until(lambda: ready(service))
        text = until(lambda: "kron_workers 1" in (t := service.get("/metrics").body.decode()) and t)
        assert "kron_schedules_unlaunchable 0" in text
        assert "kron_store_up 1" in text
    server.drop(name)
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    return {
        part for name, kind in kinds.items() for part in ([name, f"{name}_bucket"] if kind == "histogram" else [name])
    }


@pytest.mark.parametrize(("name", "expression"), expressions())
def test_every_expression_can_be_read_and_every_metric_in_it_is_printed(printed, name, expression):
    promql_parser.parse(expression)
    names = set(re.findall(r"\b(?:kron|runs|schedules|scheduling)_\w+", expression))
    assert names and names <= printed, names - printed


def test_alerts_cover_what_they_should_and_say_what_would_do():
    rules = {rule["alert"]: rule for group in ALERTS["groups"] for rule in group["rules"]}
    assert {"KronDrift", "KronMissed", "KronDeadLetters", "KronShardsUnowned"} <= set(rules)
    assert all({"summary", "hint"} <= set(rule["annotations"]) for rule in rules.values())


def test_a_store_that_does_not_answer_is_seen_in_the_metrics(server):
    name = server.database()
    with serving(store=server.url(name)) as service:
        server.drop(name)
        assert "kron_store_up 0" in service.get("/metrics").body.decode()


def test_compose_starts_the_service_with_settings_that_it_has(tmp_path):
    jwks(tmp_path)
    image = {"KRON_LISTEN": "0.0.0.0:8080"}  # as the Dockerfile sets it
    api, worker = (config_of(name, KRON_JWKS=str(tmp_path / "jwks.json"), **image) for name in OURS)
    assert (api.run_worker, api.auth, api.tenant_claim) == (False, "jwt", "tenant")
    assert (worker.run_worker, worker.listen, worker.tenant_claim) == (True, "0.0.0.0:8080", "tenant")
    assert COMPOSE["services"]["worker"]["command"][0] == "worker", "a worker serves no API"
    assert api.store.startswith("postgresql://kron_api:")
    assert worker.store.startswith("postgresql://kron_worker:")
    for name, service in COMPOSE["services"].items():
        if name != "database":
            parser().parse_args([filled(word) for word in service["command"]])
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]


def test_roles_of_the_deployment_are_those_of_the_documentation():
    script = (ROOT / "deploy" / "roles.sh").read_text()
    page = (ROOT / "docs" / "how-to" / "postgresql.md").read_text()
    documented = set(re.findall(r"^CREATE ROLE (\w+)", page, re.MULTILINE)) - {"kron_owner"}  # compose names it owner
    assert set(re.findall(r"^CREATE ROLE (\w+)", script, re.MULTILINE)) == documented
    given = COMPOSE["services"]["database"]["environment"]
    assert set(re.findall(r"\$(\w+)", script)) <= set(given)


def steps():
    """The instructions of the Dockerfile."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    return [line.split(" ", 1) for line in lines if line and not line.startswith("#")]


def test_the_image_runs_as_nobody_and_checks_its_health(tmp_path):
    found = dict(steps())  # the last of each
    assert found["USER"] == "65532:65532"
    assert json.loads(found["ENTRYPOINT"]) == ["kron"]
    assert parser().parse_args(json.loads(found["CMD"])).command == "serve"
    compile(json.loads(found["HEALTHCHECK"].removeprefix("CMD "))[2], "healthcheck", "exec")
    jwks(tmp_path)
    said = {"KRON_LISTEN": "0.0.0.0:8080", "KRON_JWKS": str(tmp_path / "jwks.json"), "KRON_ISSUER": "x"}
    assert read_config(said, {}).address[1] == 8080


@pytest.mark.slow
def test_the_steps_of_the_image_and_of_compose_without_docker(tmp_path):
    """A wheel, a clean environment, roles, migrations, and a service of each kind as nobody: a webhook arrives."""
    extras = re.search(r"\[([\w,]+)\]", next(words for verb, words in steps() if verb == "RUN"))[1]
    folder = Path(tempfile.mkdtemp(prefix="kron-image-"))
    folder.chmod(0o755)
    try:
        subprocess.run(["uv", "build", "--quiet", "--wheel", "--out-dir", folder, ROOT], check=True)
        (wheel,) = folder.glob("*.whl")
        python = "/usr/bin/python3" if os.getuid() == 0 else sys.executable  # one that nobody may run
        subprocess.run(["uv", "venv", "--quiet", "--python", python, folder / "venv"], check=True)
        install = [
            "uv",
            "pip",
            "install",
            "--quiet",
            "--python",
            folder / "venv",
            f"kron-py[{extras}] @ {wheel.as_uri()}",
        ]
        subprocess.run(install, check=True, env={**os.environ, "UV_LINK_MODE": "copy"})
        with running() as server, receiving() as receiver:
            served(folder, server, receiver)
    finally:
        shutil.rmtree(folder)


def served(folder, server, receiver):
    place = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "POSTGRES_USER": "postgres", "POSTGRES_DB": "postgres"}
    subprocess.run(
        ["sh", ROOT / "deploy" / "roles.sh"],
        check=True,
        env={**os.environ, **place, **SECRETS},
        stdout=subprocess.DEVNULL,
    )
    kron, where = folder / "venv" / "bin" / "kron", f"@127.0.0.1:{server.port}/postgres"
    migrate = [filled(word) for word in COMPOSE["services"]["migrate"]["command"]]
    owner = [word.replace("owner:o@database/kron", f"postgres{where}") for word in migrate]
    subprocess.run([kron, *owner], check=True, stdout=subprocess.DEVNULL)
    jwks(folder)
    ports, started = {name: free_port() for name in OURS}, []
    demoted = ["runuser", "-u", "nobody", "--"] if os.getuid() == 0 else []
    try:
        for name in OURS:
            service = COMPOSE["services"][name]
            said = {
                key: filled(value).replace("@database/kron", where) for key, value in service["environment"].items()
            }
            said |= {"KRON_JWKS": str(folder / "jwks.json"), "KRON_LISTEN": f"127.0.0.1:{ports[name]}"}
            said |= {
                "KRON_WEBHOOK_ALLOW_PLAIN_HTTP": "true",
                "KRON_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
                "TICK_MS": "100",
                "HOME": "/",
            }
            command = service["command"]
            env = [f"{key}={value}" for key, value in {**said, "PATH": os.environ["PATH"]}.items()]
            started.append(
                subprocess.Popen([*demoted, "env", "-i", *env, str(kron), *command], cwd="/", stderr=subprocess.DEVNULL)
            )
        api = Service(ports["api"], None, token("acme"))
        for name in OURS:
            until(lambda name=name: ready(Service(ports[name], None)), 30)
        health = json.loads(dict(steps())["HEALTHCHECK"].removeprefix("CMD "))
        check = shlex.join(["python3", *health[1:]]).replace("127.0.0.1:8080", f"127.0.0.1:{ports['api']}")
        subprocess.run(["sh", "-c", check], check=True)
        body = {"schedule": "* * * * * *", "target": receiver.url}
        assert api.put("/v1/schedules/s", body).status == 200
        until(lambda: receiver.seen, 20)
        assert api.get("/v1/schedules/s/runs").json["runs"]
    finally:
        for process in started:
            process.terminate()
            process.wait(30)
