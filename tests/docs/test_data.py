"""Data blocks of the pages: job lines, settings, krontab lines, workflow steps and webhook bodies are read by Kron."""

import json
import re
import shlex
from base64 import b64encode
from dataclasses import replace

import pytest
import yaml

from kron import parse
from kron.apps.cli.parser import parser
from kron.apps.operator.definition import OperatorDefaults, job_of_kronjob
from kron.apps.service.config_reader import read_config, read_settings
from kron.apps.service.working import settings_of
from kron.engine.breaker import Breakers
from kron.engine.claim import Claim
from kron.engine.clock import SystemTimer
from kron.engine.events import silent
from kron.engine.period_report import _run_text
from kron.engine.settings import Settings
from kron.engine.target_limit import TargetLimit, TargetLimits
from kron.kube.kind import Place
from kron.language.krontab import read_table
from kron.rules.launch_result import LaunchResponse, LaunchResult, answered
from kron.rules.plan import Plan
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.timing.job import Job
from kron.timing.schedule.policy import KRON, MINUTE, SERVICE
from kron.timing.zone import instant_of
from tests.docs.page import DOCS, blocks, table
from tests.docs.shell import run_shell
from tests.operator.running import ALLOWED
from tests.service.http import REPORT, receiving, serving, until

HOW_TO, REFERENCE = DOCS / "how-to", DOCS / "reference"
JOBS = ("from-cron.md", "host-commands.md", "kubernetes-jobs.md")


def block_of(page, language):
    """The one block of a page in a language."""
    (block,) = [block.text for block in blocks(page) if block.language == language]
    return block


@pytest.mark.parametrize("name", JOBS)
def test_job_line_of_page_loads(name, tmp_path):
    line = block_of(HOW_TO / name, "json")
    assert json.loads(line)["identity"]
    (tmp_path / "jobs.ndjson").write_text(line, encoding="utf-8")
    (tmp_path / "page.md").write_text("```sh\nkron load jobs.ndjson --store sqlite:k.db 2>&1\n```\n", encoding="utf-8")
    (printed,) = run_shell(tmp_path / "page.md", tmp_path)
    assert printed.startswith("1 schedule defined")


def test_settings_of_page_are_settings(tmp_path):
    (tmp_path / "kron.toml").write_text(block_of(HOW_TO / "authenticate.md", "toml"), encoding="utf-8")
    given = read_settings({}, {}, str(tmp_path / "kron.toml"))
    assert {"auth", "jwks", "issuer", "audience"} <= given.keys()


def test_limits_of_page_are_those_of_its_text(tmp_path):
    limits, breaker = [block.text for block in blocks(HOW_TO / "protect-targets.md") if block.language == "toml"]
    (tmp_path / "limits.toml").write_text(limits, encoding="utf-8")
    (tmp_path / "breaker.toml").write_text(breaker, encoding="utf-8")
    variables = {"KRON_TARGET_LIMITS": "hooks.example.com=10,5/s,*=50"}
    from_file = settings_of(read_config({}, {}, str(tmp_path / "limits.toml"), worker=True))
    assert from_file == settings_of(read_config(variables, {}, worker=True))
    assert from_file.target_limits == (TargetLimit("hooks.example.com", 10, 5.0), TargetLimit("*", 50))
    changed = settings_of(read_config({}, {}, str(tmp_path / "breaker.toml"), worker=True))
    assert (changed.breaker_failures, changed.breaker_hold, changed.breaker_max_hold) == (20, 5_000, 30_000)


def test_causes_of_limits_page_are_those_of_a_worker():
    """The sample has what a worker records, for a host that failed and for the limit of the page."""
    waiting, limited, held, probed = block_of(HOW_TO / "protect-targets.md", "text").splitlines()
    breakers, now = Breakers(Settings(), silent), instant_of("2026-03-01T12:00:20Z") * 1000
    for _ in range(10):
        breakers.record("hooks.example.com", LaunchResponse(LaunchResult.RETRYABLE), now)
    run = Run("k", "a", now // 1000, 1, now, State.LAUNCHING)
    limits = TargetLimits([TargetLimit("hooks.example.com", 10, 5.0)], SystemTimer(), lambda kind: 10, 12.0)
    limits.register("hooks.example.com", "https")
    limits.begin("hooks.example.com")
    job = Job("a", replace(parse("0 12 * * *", dialect="kron"), policy=SERVICE))
    claim = Claim(job, run, 0.0, now, Plan(ScheduleState(job, 1, now, now), now, None), target="hooks.example.com")
    hold = breakers.hold(claim, now)
    breakers.begin("hooks.example.com", now + 10_000)
    probe = breakers.hold(claim, now + 10_001)
    assert waiting == _run_text(run, "")
    assert limited == _run_text(returned(run, 1, 1), limits.cause("hooks.example.com"))
    assert held == _run_text(returned(run, 2, 1), hold.cause)
    assert probed == _run_text(returned(run, 3, 2), probe.cause)


def returned(run, attempt, unsent):
    """The run after its worker has withheld it."""
    return run._replace(state=State.RETRY, attempt=attempt, unsent=unsent)


@pytest.mark.parametrize("row", table(REFERENCE / "webhook-format.md", "unknown response"), ids=lambda row: row[0])
def test_page_on_webhooks_says_what_follows_an_unknown_response(row):
    preset, _, consequence = row
    run = Run("k", "a", 0, 1, 0, State.LAUNCHING, attempt=1)
    policy = replace({"kron": KRON, "service": SERVICE}[preset], deadline=MINUTE)
    state = answered(run, LaunchResult.UNKNOWN, policy, 0).state
    assert state is (State.RETRY if "sends the run again" in consequence else State.UNKNOWN)
    assert "never sends it again" in consequence or state is State.RETRY


def test_krontab_of_page_is_read():
    lines = [block.text for block in blocks(REFERENCE / "krontab.md") if block.language == "krontab"]
    table = read_table("".join(lines), "krontab")
    assert ([job.name for job in table.jobs], table.errors) == (["backup", "clear-cache"], ())


@pytest.mark.parametrize("page", ["get-started/workflow-files.md", "how-to/manage-as-code.md"])
def test_workflow_steps_of_page_are_commands(page):
    steps = [step["run"] for step in yaml.safe_load(block_of(DOCS / page, "yaml"))]
    commands = [shlex.split(step) for step in steps if step.startswith("kron ")]
    assert commands
    assert all(parser().parse_args(words[1:]).command for words in commands)


def test_workflow_file_of_page_compiles(tmp_path):
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    text = block_of(REFERENCE / "sentences.md", "yaml") + "jobs:\n  a: {runs-on: ubuntu-latest, steps: [{run: echo}]}\n"
    (folder / "a.yml").write_text(text, encoding="utf-8")
    (tmp_path / "page.md").write_text(
        "```sh\nkron compile --repo octo-org/site .github/workflows\n```\n", encoding="utf-8"
    )
    (printed,) = run_shell(tmp_path / "page.md", tmp_path)
    assert re.search(r"\b\d+ \d+ \* \* 1\b", printed)


def test_role_of_page_allows_what_the_launcher_calls():
    role = yaml.safe_load(block_of(HOW_TO / "kubernetes-jobs.md", "yaml"))
    allowed = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert allowed == {("cronjobs", "get"), ("jobs", "get"), ("jobs", "create"), ("jobs", "delete")}


def test_role_and_kronjob_of_page_are_those_of_the_operator():
    role, kronjob = [
        yaml.safe_load(block.text) for block in blocks(HOW_TO / "kron-operator.md") if block.language == "yaml"
    ]
    allowed = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert allowed == ALLOWED
    place = Place(kronjob["metadata"]["namespace"], kronjob["metadata"]["name"])
    assert job_of_kronjob(place, kronjob["spec"], OperatorDefaults()).identity == "billing/report"


def test_webhook_body_of_page_has_the_fields_of_a_real_one():
    shown = json.loads(block_of(REFERENCE / "webhook-format.md", "json"))
    working = {"run_worker": True, "tick_ms": 50, "public_url": "https://kron.example", "report_secret": REPORT}
    with receiving() as receiver, serving(**working) as service:
        job = {"schedule": "* * * * * *", "target": receiver.url, "completion": "reported", "deadline_ms": 600_000}
        service.put("/v1/schedules/hello", job)
        body = json.loads(until(lambda: receiver.seen)[0][2])
    assert shown.keys() == body.keys()
    assert shown["data"].keys() == body["data"].keys()
    assert shown["data"]["report"].keys() == body["data"]["report"].keys()
    constant = ("specversion", "source", "type", "subject", "datacontenttype")
    assert {name: shown[name] for name in constant} == {name: body[name] for name in constant}


def test_settings_of_the_login_are_accepted(tmp_path):
    (tmp_path / "kron.toml").write_text(block_of(HOW_TO / "dashboard.md", "toml"), encoding="utf-8")
    key = "whsec_" + b64encode(bytes(32)).decode()
    config = read_config({"KRON_UI_SESSION_KEY": key}, {}, str(tmp_path / "kron.toml"))
    assert (config.has_dashboard, config.ui_url, config.ui_name_claim) == (True, "https://kron.example/ui", "email")
