"""Shell blocks of pages that need the service, a crontab or nothing: each is run, against a real service."""

import json
import re

import pytest

from kron import __version__
from tests.docs.page import DOCS, ROOT, blocks
from tests.docs.shell import run_shell
from tests.postgres import free_port
from tests.service.http import REPORT, receiving, serving, until
from tests.service.tokens import settings, token

HOW_TO, STARTED = DOCS / "how-to", DOCS / "get-started"
WORKING = {"run_worker": True, "tick_ms": 50}
NIGHTLY = {"schedule": "0 3 * * *", "overlap_policy": "allow"}


def refusing(_):
    return 400, {}, b""


def unavailable(_):
    return 503, {}, b""


def of(service):
    """The variables of the pages, for a service."""
    return {"KRON_URL": f"http://127.0.0.1:{service.port}", "KRON_TOKEN": service.token or "unused"}


def data_of(stream, name):
    """The data of the first event of that name."""
    data = re.search(rf"^event: {name}\ndata: (.*)$", stream, re.MULTILINE)[1]
    return json.loads(data.replace(", …}", "}"))


def test_install_page_prints_the_version(tmp_path):
    printed = run_shell(STARTED / "install.md", tmp_path)
    (shown,) = [block.text for block in blocks(STARTED / "install.md") if block.language == "text"]
    assert re.sub("20[0-9]{2}[a-z]", "2025b", printed[1]) == shown.strip() == f"kron {__version__} (tz database 2025b)"
    assert (tmp_path / ".kron-completion").stat().st_size
    assert "source" in (tmp_path / ".bashrc").read_text(encoding="utf-8")


def test_webhook_page_makes_a_secret_and_reports(tmp_path):
    with receiving() as receiver, serving(**WORKING, public_url="http://127.0.0.1", report_secret=REPORT) as service:
        service.put("/v1/schedules/long", {**NIGHTLY, "target": receiver.url, "completion": "reported"})
        service.post("/v1/schedules/long/trigger", {})
        report = json.loads(until(lambda: receiver.seen)[0][2])["data"]["report"]
        path = report["url"].removeprefix("http://127.0.0.1")
        variables = {"REPORT_URL": of(service)["KRON_URL"] + path, "REPORT_TOKEN": report["token"]}
        printed = run_shell(HOW_TO / "receive-webhooks.md", tmp_path, **variables)
        until(lambda: service.get("/v1/schedules/long/runs").json["runs"][0]["state"] == "success")
    assert re.fullmatch(r"whsec_[\w+/]{43}=", printed[0])


def test_limits_page_starts_workers(tmp_path):
    run_shell(HOW_TO / "protect-targets.md", tmp_path)
    log = (tmp_path / "worker.log").read_text(encoding="utf-8")
    assert [json.loads(line)["launches"] for line in log.splitlines() if "worker_started" in line] == ["http, https"]


def test_dead_letters_page_redrives(tmp_path):
    page = HOW_TO / "dead-letters.md"
    (key,) = re.findall(r"\b[0-9a-f]{64}\b", page.read_text(encoding="utf-8"))
    with receiving(refusing) as receiver, serving(**WORKING) as service:
        service.put("/v1/schedules/nightly", {**NIGHTLY, "target": receiver.url})
        service.post("/v1/schedules/nightly/trigger", {})
        (letter,) = until(lambda: service.get("/v1/dead-letters").json["runs"])
        run_shell(page, tmp_path, {key: letter["key"]}, **of(service))
        until(lambda: len(receiver.seen) >= 2)


def test_events_page_streams_the_fields_that_it_shows(tmp_path):
    page = HOW_TO / "stream-events.md"
    (shown,) = [block.text for block in blocks(page) if block.language == "text"]
    with receiving(unavailable) as receiver, serving(**WORKING) as service:
        service.put("/v1/schedules/nightly", {**NIGHTLY, "target": receiver.url})
        service.post("/v1/schedules/nightly/trigger", {})
        until(lambda: receiver.seen)
        replaced = {"events?seconds=300": "events?seconds=2", 'events"': 'events?seconds=1"'}
        printed = run_shell(page, tmp_path, replaced | {"4711": "another.1"}, **of(service))
    sample, event = data_of(shown, "launch_completed"), data_of(printed[0], "launch_completed")
    assert sample.keys() <= event.keys()
    assert (sample["state"], sample["result"]) == (event["state"], event["result"])
    assert "event: events_lost" in printed[1]


def test_customer_page_prints_what_it_shows(tmp_path):
    page = HOW_TO / "per-customer-schedules.md"
    lines = [{"id": "a", "schedule": "0 * * * *"}, {"id": "b", "schedule": "99 * * * *"}]
    target = {"target": "https://hooks.example/report"}
    (tmp_path / "schedules.ndjson").write_text("".join(f"{json.dumps({**line, **target})}\n" for line in lines))
    with serving() as service:
        preview, labelled, bulk, _ = run_shell(page, tmp_path, **of(service))
    assert json.loads(preview)["runs"]
    assert "BEGIN:VEVENT" in (tmp_path / "runs.ics").read_text(encoding="utf-8")
    defined, length = json.JSONDecoder().raw_decode(labelled)
    assert defined["payload"] == {"customer": 42, "format": "pdf"}
    assert [row["id"] for row in json.loads(labelled[length:])["schedules"]] == ["acme.report"]
    (shown,) = [block.text for block in blocks(page) if block.language == "text"]
    for line, sample in zip(bulk.splitlines(), shown.splitlines(), strict=True):
        expected = json.loads(re.sub(r", …", "", sample))
        answer = json.loads(line)
        assert expected.keys() == answer.keys()
        assert (expected["line"], expected["status"]) == (answer["line"], answer["status"])
        assert expected.get("problem", {}).get("code") == answer.get("problem", {}).get("code")


def test_workflow_page_deploys(tmp_path):
    (tmp_path / "workflows").mkdir()
    with serving(workflow_store=str(tmp_path / "workflows"), executor_url="https://executor.example/") as service:
        run_shell(HOW_TO / "workflows.md", tmp_path, **of(service))
        assert service.get("/v1/schedules/invoice.nightly").status == 200


def test_pages_on_tokens_and_the_audit_log_run(tmp_path):
    log = tmp_path / "audit.jsonl"
    with serving(**settings(tmp_path), audit_log=str(log)) as service:
        admin = service.bearing(token("acme"))
        admin.put("/v1/schedules/a", {**NIGHTLY, "target": "https://hooks.example/report"})
        replaced = {"https://kron.example": of(service)["KRON_URL"]}
        run_shell(HOW_TO / "authenticate.md", tmp_path, replaced, TOKEN=admin.token)
        run_shell(HOW_TO / "harden.md", tmp_path, {"/var/log/kron/audit.jsonl": str(log)})


def test_readme_defines_a_schedule_over_http(tmp_path):
    address = f"127.0.0.1:{free_port()}"
    printed = run_shell(
        ROOT / "README.md", tmp_path, {"127.0.0.1:8080": address}, only="kron serve ", KRON_LISTEN=address
    )
    assert json.loads(printed[0])["id"] == "hello"


@pytest.mark.parametrize("name", ["host-commands", "from-cron"])
def test_page_on_host_commands_runs(name, tmp_path):
    page = HOW_TO / f"{name}.md"
    (line,) = [block.text for block in blocks(page) if block.language == "json"]
    (tmp_path / "jobs.ndjson").write_text(line, encoding="utf-8")
    page_before = tmp_path / "page.md"
    page_before.write_text("```sh\nkron load jobs.ndjson --store sqlite:kron.db\n```\n", encoding="utf-8")
    run_shell(page_before, tmp_path)
    (tmp_path / "syslog").write_text("Nov 18 12:00:01 host CRON[8]: (root) CMD (x)\n", encoding="utf-8")
    replaced = {"/var/lib/kron": str(tmp_path), "/var/log/syslog": str(tmp_path / "syslog")}
    printed = run_shell(page, tmp_path, replaced, XDG_CONFIG_HOME="", XDG_STATE_HOME="")
    if name == "from-cron":
        assert re.search(
            r"^krond: +running, process \d+; shadow mode: it records runs and starts nothing$", printed[0], re.M
        )
        assert "both: 0, only cron: 0, only Kron: 0, neither: 0" in printed[1]
