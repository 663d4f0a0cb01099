"""The audit log: an intent before each change, its result after, in a chain that shows what was taken out of it."""

import json
import os
import re
from hashlib import sha256

import pytest

from kron import KronError
from kron.apps.cli import main
from kron.apps.service.app import make_app
from kron.apps.service.auth.chain import Chain, broken
from tests.service.http import NDJSON, config, serving
from tests.service.tokens import settings, token

DEFINITION = {"schedule": "0 3 * * *", "target": "http://127.0.0.1:9/hook"}


@pytest.fixture
def audited(tmp_path):
    path = tmp_path / "audit"
    with serving(**settings(tmp_path), audit_log=str(path)) as service:
        service.path = path
        yield service


def entries(path, kind=None):
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [each for each in found if kind in (None, each["kind"])]


def test_each_change_has_an_intent_and_its_result(audited):
    eve = audited.bearing(token("acme", sub="eve", jti="j-77"))
    eve.put("/v1/schedules/au", DEFINITION)
    eve.post("/v1/schedules/au/pause", {"note": "x"})
    eve.get("/v1/schedules/au")
    eve.call("DELETE", "/v1/schedules/none")
    intents, results = entries(audited.path, "intent"), entries(audited.path, "result")
    assert [(e["method"], e["who"], e["tenant"], e["token"], e["address"]) for e in intents] == [
        ("PUT", "eve", "acme", "j-77", "127.0.0.1"),
        ("POST", "eve", "acme", "j-77", "127.0.0.1"),
        ("DELETE", "eve", "acme", "j-77", "127.0.0.1"),
    ]
    assert [(e["intent"], e["status"]) for e in results] == [
        (intents[0]["n"], 200),
        (intents[1]["n"], 200),
        (intents[2]["n"], 404),
    ]
    assert intents[0]["route"] == "/v1/schedules/{schedule_id}"
    assert intents[0]["target"] == {"schedule_id": "au"}


def test_what_is_asked_for_is_recorded_with_its_target(audited):
    eve = audited.bearing(token())
    eve.put("/v1/schedules/a", {**DEFINITION, "target": "http://127.0.0.1:9/attacker"})
    eve.put("/v1/schedules/a", DEFINITION)
    assert [e["asked"]["target"] for e in entries(audited.path, "intent")] == [
        "http://127.0.0.1:9/attacker",
        "http://127.0.0.1:9/hook",
    ]


def test_bulk_records_the_ids_and_targets(audited):
    lines = b"".join(json.dumps({"id": f"b{n}", **DEFINITION}).encode() + b"\n" for n in range(120))
    audited.bearing(token()).call("POST", "/v1/schedules:bulk", lines, **NDJSON)
    asked = [each for e in entries(audited.path, "intent") for each in e.get("asked") or []]
    assert asked == [{"id": f"b{n}", "target": DEFINITION["target"]} for n in range(120)]


def test_action_on_many_records_the_first_ids_and_their_number_or_the_filter(audited):
    eve, ids = audited.bearing(token()), [f"s{n:03d}" for n in range(130)]
    assert eve.post("/v1/schedules:pause", {"ids": ids, "note": "x"}).status == 200
    assert eve.post("/v1/schedules:pause", {"ids": ["y" * 200], "note": "x"}).status == 200
    eve.post("/v1/dead-letters:redrive", {"keys": ["0" * 64]})
    assert eve.post("/v1/schedules:resume", {"filter": {"prefix": "s0", "labels": ["a=b"]}}).status == 200
    many, one, keys, by_filter = [entry["asked"] for entry in entries(audited.path, "intent")]
    assert (many["ids"]["count"], many["ids"]["first"], many["note"]) == (130, ids[:100], "x")
    assert many["ids"]["sha256"] == sha256(json.dumps(ids).encode()).hexdigest(), "the whole list can be checked"
    assert (one["ids"]["count"], one["ids"]["first"]) == (1, ["y" * 200])
    assert keys["keys"]["first"] == ["0" * 64]
    assert by_filter["filter"] == {"prefix": "s0", "labels": "['a=b']"}


def test_huge_selection_has_a_line_of_bounded_length(audited):
    audited.bearing(token()).post("/v1/schedules:pause", {"ids": ["y" * 300 for _ in range(180)]})
    (line,) = [line for line in audited.path.read_text().splitlines() if '"intent"' in line and "asked" in line]
    assert 100 * 200 < len(line) < 100 * 200 + 2_000


def test_change_that_cannot_be_recorded_is_refused_before_it_is_made(audited):
    eve = audited.bearing(token())
    assert eve.put("/v1/schedules/a", DEFINITION).status == 200
    chain = audited.app.state.parts.audit.chain
    kept, full = os.dup(chain.fd), os.open("/dev/full", os.O_RDWR)
    chain._moved = lambda: False
    os.dup2(full, chain.fd)  # the disk is full
    for method, path, body in (
        ("PUT", "/v1/schedules/b", DEFINITION),
        ("DELETE", "/v1/schedules/a", None),
        ("POST", "/v1/schedules/a/trigger", None),
    ):
        reply = eve.call(method, path, body)
        assert (reply.status, reply.json["code"]) == (503, "AUDIT")
    said = eve.call("POST", "/v1/schedules:bulk", json.dumps({"id": "c", **DEFINITION}).encode(), **NDJSON)
    assert said.status == 503
    assert [each["id"] for each in eve.get("/v1/schedules").json["schedules"]] == ["a"]
    os.dup2(kept, chain.fd)
    assert eve.put("/v1/schedules/b", DEFINITION).status == 200
    assert broken(audited.path.read_text().splitlines()) is None


def test_strangers_cannot_fill_the_audit_log(audited):
    before = audited.path.stat().st_size
    for n in range(200):
        forwarded = {"X_Forwarded_For": "z" * 10_000}
        assert audited.call("POST", f"/v1/schedules/x{n}/trigger", **forwarded).status == 401
        assert audited.call("POST", "/v1/x" + "y" * 280, **forwarded).status == 404
    assert audited.path.stat().st_size - before < 10_000
    found = entries(audited.path, "refused")
    assert len(found) == 10
    assert {(e["who"], e["status"]) for e in found} == {(None, 401)}


def test_strangers_that_were_not_recorded_are_counted(tmp_path):
    path = tmp_path / "audit"
    with serving(**settings(tmp_path), audit_log=str(path)) as service:
        for _ in range(25):
            service.post("/v1/schedules/x/trigger")
    assert [e.get("unrecorded_before") for e in entries(path, "closed")] == [15]


def test_caller_without_the_scope_is_recorded(audited):
    audited.bearing(token(scope="schedules:read", sub="bob")).call("DELETE", "/v1/schedules/a")
    assert [(e["who"], e["status"]) for e in entries(audited.path, "refused")] == [("bob", 403)]


@pytest.mark.parametrize(
    ("trusted", "forwarded", "address"),
    [
        ((), "203.0.113.66", "127.0.0.1"),
        (("10.0.0.0/8",), "203.0.113.66", "127.0.0.1"),
        (("127.0.0.0/8",), "203.0.113.66", "203.0.113.66"),
        (("127.0.0.0/8",), "198.51.100.9, 203.0.113.66", "203.0.113.66"),
        (("127.0.0.0/8", "10.0.0.0/8"), "198.51.100.9, 203.0.113.66, 10.1.1.1", "203.0.113.66"),
        (("127.0.0.0/8",), "203.0.113.66, not an address\x1b[31m", "127.0.0.1"),
        (("127.0.0.0/8",), "", "127.0.0.1"),
    ],
)
def test_forwarded_address_is_believed_of_trusted_proxies_only(tmp_path, trusted, forwarded, address):
    path = tmp_path / "audit"
    with serving(**settings(tmp_path), audit_log=str(path), trusted_proxies=trusted) as service:
        service.bearing(token()).put("/v1/schedules/a", DEFINITION, X_Forwarded_For=forwarded)
    assert [e["address"] for e in entries(path, "intent")] == [address]


def test_audit_log_that_cannot_be_written_refuses_to_start(tmp_path):
    for path in (tmp_path, tmp_path / "none" / "audit"):
        with pytest.raises(KronError, match="audit log"):
            make_app(config(audit_log=str(path)))
    held = Chain(tmp_path / "audit")
    with pytest.raises(KronError, match="another process"):
        make_app(config(audit_log=str(tmp_path / "audit")))
    held.close()


def test_line_that_was_cut_off_by_a_crash_is_dropped(tmp_path):
    path = tmp_path / "audit"
    for _ in range(2):
        with serving(audit_log=str(path)) as service:
            service.put("/v1/schedules/a", DEFINITION)
        with path.open("a") as file:
            file.write('{"kind": "intent", "n": 7')
    Chain(path).close()
    assert broken(path.read_text().splitlines()) is None
    assert len(entries(path, "opened")) == 2


def test_log_that_was_moved_away_goes_on_in_a_new_file(audited, capsys):
    eve = audited.bearing(token())
    eve.put("/v1/schedules/a", DEFINITION)
    old = audited.path.with_suffix(".1")
    audited.path.rename(old)
    eve.put("/v1/schedules/b", DEFINITION)
    assert main(["audit-log", "verify", str(old), str(audited.path)]) == 0
    assert main(["audit-log", "verify", str(audited.path)]) == 1
    last = re.search(r"[0-9a-f]{64}", _said(capsys, ["audit-log", "verify", str(old)])).group()
    assert main(["audit-log", "verify", str(audited.path), "--after", last]) == 0


@pytest.mark.parametrize("attack", ["changed", "taken out", "swapped", "put in", "not JSON"])
def test_verify_names_the_first_broken_line(audited, capsys, attack):
    for n in range(5):
        audited.bearing(token()).put(f"/v1/schedules/s{n}", DEFINITION)
    path = str(audited.path)
    assert _said(capsys, ["audit-log", "verify", path]).startswith("ok: 11 lines")
    lines = audited.path.read_text().splitlines()
    wanted = {"changed": 6, "taken out": 5, "swapped": 5, "put in": 6, "not JSON": 5}[attack]
    if attack == "changed":
        lines[4] = lines[4].replace("svc@acme", "nobody").replace('"status": 200', '"status": 403')
    elif attack == "taken out":
        del lines[4]
    elif attack == "swapped":
        lines[4], lines[5] = lines[5], lines[4]
    elif attack == "put in":
        lines.insert(5, lines[4])
    else:
        lines[4] = lines[4][:40]
    audited.path.write_text("\n".join(lines) + "\n")
    assert main(["audit-log", "verify", path]) == 1
    assert f"{path}:{wanted}:" in capsys.readouterr().out
    assert main(["audit-log", "verify", path + ".none"]) == 1


def _said(capsys, words):
    capsys.readouterr()
    assert main(words) == 0
    return capsys.readouterr().out
