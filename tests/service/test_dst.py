"""`dst` of a definition: it means what it means in Python, and the stored text has it."""

import json

import pytest

from kron import LanguageError, Scheduler
from kron.client import Client
from tests.service.http import NDJSON, serving

TARGET = {"workflow_id": "w", "version": 1, "user_id": "u"}
PARIS = {"schedule": "30 2 * * *", "dialect": "kron", "timezone": "Europe/Paris"}
ONCE = "30 2 * * * @tz(Europe/Paris) @dst(once)"
RULES = [
    ({**PARIS, "dst": "once"}, ONCE),
    ({**PARIS, "dst": "gap=after,fold=first"}, "30 2 * * * @tz(Europe/Paris) @dst(gap=after,fold=first)"),
    ({**PARIS, "dst": "fold=last"}, "30 2 * * * @tz(Europe/Paris) @dst(fold=last)"),
    ({"schedule": "plus: 0 9 L * *", "dst": "once"}, "0 9 L * * @dst(once)"),
    ({"schedule": "at 2036-12-01T09:00", "dialect": "plus", "dst": "fold=last"}, "at 2036-12-01T09:00 @dst(fold=last)"),
    ({"schedule": "fuzzy: daily around 14:00", "dst": "once"}, None),
]
REFUSALS = [
    ({**PARIS, "dst": "twice"}, "BAD_PARAMETER"),
    ({**PARIS, "dst": "gap=twice"}, "BAD_PARAMETER"),
    ({"schedule": "30 2 * * * @dst(once)", "dialect": "plus", "dst": "wall"}, "TWO_RULES"),
    ({"schedule": "every 90m from 2026-01-01T00:00", "dialect": "plus", "dst": "once"}, "MISPLACED_MODIFIER"),
    (
        {
            "schedule": "30 2 * * * @valid(from=2026-10-25T02:30+01:00,until=2026-10-25T02:30+01:00) @tz(Europe/Paris)",
            "dialect": "plus",
            "dst": "fold=first",
        },
        "NEVER",
    ),
]


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def service(request, tmp_path_factory):
    url = "memory:" if request.param == "memory" else f"sqlite:{tmp_path_factory.mktemp('store')}/kron.db"
    with serving(store=url) as service:
        yield service


def declared(options):
    scheduler = Scheduler("memory:")
    scheduler.add(print, name="job", **options)
    return scheduler.declared["job"].job


@pytest.mark.parametrize(("body", "text"), RULES)
def test_rule_is_kept_in_the_text_and_can_be_put_again(service, body, text):
    made = service.put("/v1/schedules/rule", {**body, **TARGET})
    assert made.status == 200, made.json
    shown = service.get("/v1/schedules/rule").json
    assert shown["dialect"] == "plus"
    assert shown["schedule"] == shown["canonical"]
    assert text is None or shown["schedule"] == text
    same = {name: shown[name] for name in ("schedule", "dialect", "timezone", *TARGET)}
    again = service.put("/v1/schedules/rule", same).json
    assert (again["revision"], again["canonical"]) == (made.json["revision"], shown["canonical"])


@pytest.mark.parametrize(("body", "text"), [rule for rule in RULES if "fuzzy" not in rule[0]["schedule"]])
def test_rule_means_the_same_as_in_python(service, body, text):
    shown = service.put("/v1/schedules/same", {**body, **TARGET}).json
    source = declared(body).source
    assert (source.text, source.dialect, source.zone) == (shown["schedule"], shown["dialect"], shown["timezone"])


@pytest.mark.parametrize(("body", "code"), REFUSALS)
def test_refusal_is_that_of_python_and_names_the_field(service, body, code):
    definition = {**body, **TARGET}
    with pytest.raises(LanguageError) as refusal:
        declared(body)
    assert (refusal.value.code, refusal.value.place.source) == (code, "dst")
    line = json.dumps({"id": "refused", **definition}).encode()
    answers = [
        service.put("/v1/schedules/refused", definition).json,
        service.post("/v1/schedules", definition).json,
        service.post("/v1/preview", {"definition": definition}).json,
        service.post("/v1/schedules:bulk", line, **NDJSON).lines[0]["problem"],
    ]
    for answer in answers:
        assert (answer["status"], answer["code"], answer["field"]) == (422, code, "dst"), answer
        assert answer["detail"] == refusal.value.message
        assert answer["hint"] == refusal.value.hint
    assert service.get("/v1/schedules/refused").status == 404
    with pytest.raises(LanguageError) as refusal:
        Client(f"http://127.0.0.1:{service.port}").apply("refused", definition)
    assert (refusal.value.code, refusal.value.place.source) == (code, "dst")


def test_rule_of_a_line_and_of_a_preview(service):
    line = json.dumps({"id": "line", **PARIS, "dst": "once", **TARGET}).encode()
    assert service.post("/v1/schedules:bulk", line, **NDJSON).lines[0]["status"] == 200
    assert service.get("/v1/schedules/line").json["schedule"] == ONCE
    rare = {**PARIS, "schedule": "30 2 29 3 *", "start_at": "2037-01-01T00:00:00Z", **TARGET}
    for rule, first in (("once", "2037-03-29T01:00:00Z"), ("wall", "2038-03-29T00:30:00Z")):
        preview = service.post("/v1/preview?n=1", {"definition": {**rare, "dst": rule}}).json
        assert [run["period"] for run in preview["runs"]] == [first]


def test_salt_that_looks_like_a_rule_is_not_a_rule(service):
    text = '0 9 * * * @win(after,1h) @seed(stable,salt="@dst(once)")'
    made = service.put("/v1/schedules/salt", {"schedule": text, "dialect": "kron", "dst": "once", **TARGET})
    assert made.json["schedule"] == f"{text} @dst(once)"


def test_patch_replaces_and_removes_the_rule(service):
    service.put("/v1/schedules/patched", {**PARIS, "dst": "once", **TARGET})
    steps = [
        ({"dst": "fold=last"}, "30 2 * * * @tz(Europe/Paris) @dst(fold=last)"),
        ({"description": "x"}, "30 2 * * * @tz(Europe/Paris) @dst(fold=last)"),
        ({"dst": None}, "30 2 * * * @tz(Europe/Paris)"),
        ({"schedule": "30 3 * * *", "dst": "once"}, "30 3 * * * @tz(Europe/Paris) @dst(once)"),
    ]
    for body, text in steps:
        changed = service.call("PATCH", "/v1/schedules/patched", body)
        assert changed.status == 200, changed.json
        assert changed.json["schedule"] == text


def test_bodies_of_the_specification_do_not_have_the_field(service):
    body = {"schedule_id": "spec", "cron_expr": "30 2 * * *", "timezone": "Europe/Paris", "dst": "once", **TARGET}
    assert service.post("/schedules/upsert", body).status == 422


def test_seconds_at_the_end_are_read_before_the_rule():
    with serving(cron_seconds_position="last") as service:
        body = {"schedule": "30 2 * * * 15", "timezone": "Europe/Paris", "dst": "once", **TARGET}
        assert service.put("/v1/schedules/last", body).json["schedule"] == f"15 {ONCE}"
