"""`kron load`: the schedules of a file, defined; a line that cannot be read is named and left out."""

import asyncio
import json
import re

import pytest

from kron.apps.cli.commands.load import ALL_KEYS
from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from kron.timing.job import Command, Source
from tests.cli.test_postgres import asked
from tests.docs.page import DOCS

GOOD = {"identity": "a/b", "schedule": "*/5 * * * *", "timezone": "Europe/Paris", "target": "python:pass"}
WRONG = [
    b"{",
    b"[1]",
    b"\xff",
    json.dumps({"identity": "x"}).encode(),
    json.dumps({**GOOD, "schedule": "61 * * * *"}).encode(),
    json.dumps({**GOOD, "colour": "red"}).encode(),
    json.dumps({**GOOD, "target": 7}).encode(),
    json.dumps({**GOOD, "completion": "later"}).encode(),
    json.dumps({**GOOD, "max_runs": 0}).encode(),
    json.dumps({**GOOD, "pause_on_failure": "3"}).encode(),
    json.dumps({**GOOD, "after_end": "remove"}).encode(),
    json.dumps({**GOOD, "payload": "x" * 65_536}).encode(),
    json.dumps({**GOOD, "stdin": "payload"}).encode(),
    json.dumps({**GOOD, "command": "true", "stdin": "file"}).encode(),
    json.dumps({**GOOD, "stdout": "discard"}).encode(),
    json.dumps({**GOOD, "stderr": "discard"}).encode(),
    json.dumps({**GOOD, "command": "true", "stdout": "log.txt"}).encode(),
    json.dumps({**GOOD, "command": "true", "stderr": "file:/%Q"}).encode(),
    json.dumps({**GOOD, "labels": ["team"]}).encode(),
    json.dumps({**GOOD, "labels": {"a b": "x"}}).encode(),
    json.dumps({**GOOD, "description": "x" * 70_000}).encode(),
    b"[" * 50_000,
]


def write(path, *lines):
    path.write_bytes(b"\n".join(lines) + b"\n")
    return str(path)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "schedules.ndjson"


def test_they_are_defined_once_however_often_they_are_loaded(kron, database, file):
    lines = [json.dumps({**GOOD, "identity": f"s{n}", "description": f"number {n}"}).encode() for n in range(1_500)]
    words = ("load", write(file, *lines, b""), "--store", database, "--note", "moved here")
    first, again = kron(*words), kron(*words)
    assert (first.status, again.status) == (0, 0)
    assert "1,500 schedules defined" in first.err
    found = asked(database, lambda store: Registrar(store).schedules("s1499"))
    assert [(case.job.description, case.revision) for case in found] == [("number 1499", 1)]
    assert found[0].job.target == "python:pass"
    assert found[0].job.schedule.zone.name == "Europe/Paris"
    assert found[0].job.source == Source("*/5 * * * *", "kron", "Europe/Paris")
    (revision,) = asked(database, lambda store: store.revisions("s0"))
    assert (revision.actor, revision.note) == ("kron load", "moved here")
    assert len(asked(database, lambda store: store.identities("", 10_000))) == 1_500


@pytest.mark.parametrize("wrong", WRONG, ids=[str(line[:20]) for line in WRONG])
def test_a_line_that_cannot_be_read_is_named_and_the_others_are_defined(kron, tmp_path, file, wrong):
    store = f"sqlite:{tmp_path}/kron.db"
    result = kron("load", write(file, wrong, json.dumps(GOOD).encode()), "--store", store)
    assert result.status == 1
    assert result.err.startswith("line 1: ")
    assert "error[" in result.err
    assert "1 schedule defined" in result.err
    assert "1 line rejected" in result.err


@pytest.mark.parametrize("stdin", ["payload", None])
def test_command_with_input_is_stored_in_every_store(kron, database, tmp_path, file, stdin):
    line = {"identity": "c", "schedule": "0 3 * * *", "command": "cat", "payload": {"a": 1}}
    line |= {} if stdin is None else {"stdin": stdin}

    async def loaded(url):
        async with open_store(url) as store:
            return (await Registrar(store).get("c")).job

    for url in (database, f"sqlite:{tmp_path}/kron.db"):
        assert kron("load", write(file, json.dumps(line).encode()), "--store", url).status == 0
        job = asyncio.run(loaded(url))
        assert (job.command, job.payload) == (Command("cat", stdin=stdin), '{"a":1}')


def test_command_with_outputs_is_stored(kron, tmp_path, file):
    line = {"identity": "c", "schedule": "0 3 * * *", "command": "x", "stdout": "file:/log/%F", "stderr": "discard"}

    async def loaded(url):
        async with open_store(url) as store:
            return (await Registrar(store).get("c")).job

    url = f"sqlite:{tmp_path}/kron.db"
    assert kron("load", write(file, json.dumps(line).encode()), "--store", url).status == 0
    assert asyncio.run(loaded(url)).command == Command("x", stdout="file:/log/%F", stderr="discard")


def test_output_that_cannot_be_read_says_what_to_write(kron, file):
    line = {**GOOD, "command": "true", "stdout": "log.txt"}
    result = kron("load", write(file, json.dumps(line).encode()), "--store", "memory:")
    assert "error[BAD_FIELD]: field stdout: 'log.txt' is not an output" in result.err
    assert "write capture, inherit, discard, syslog, journal, file:/path or an absolute path" in result.err


def test_a_thousand_wrong_lines_are_counted_and_the_first_are_shown(kron, file):
    result = kron("load", write(file, *[b"{"] * 1_000), "--store", "memory:")
    assert result.status == 1
    assert result.err.count("error[BAD_LINE]") == 10
    assert "1,000 lines rejected" in result.err


def test_a_file_that_is_not_there(kron, tmp_path):
    result = kron("load", str(tmp_path / "nothing"), "--store", "memory:")
    assert (result.status, "error[BAD_FILE]" in result.err) == (1, True)


@pytest.mark.parametrize(
    ("more", "completion"),
    [
        ({"target": "https://hooks.example/a"}, "accepted"),
        ({"target": "workflow:w?version=1&user=u"}, "accepted"),
        ({"target": "https://hooks.example/a", "completion": "reported"}, "reported"),
        ({"target": "python:pass"}, "reported"),
        ({"target": "command:", "command": "true"}, "reported"),
        ({"target": "kubernetes:ns/cronjob"}, "reported"),
    ],
)
def test_loaded_schedule_completion_follows_its_line_or_its_target(kron, tmp_path, file, more, completion):
    store = f"sqlite:{tmp_path}/kron.db"
    assert kron("load", write(file, json.dumps({**GOOD, **more}).encode()), "--store", store).status == 0

    async def defined():
        async with open_store(store) as opened:
            return await Registrar(opened).schedules()

    (found,) = asyncio.run(defined())
    assert str(found.policy.completion) == completion


def test_line_carries_payload_and_labels(kron, tmp_path, file):
    line = {**GOOD, "payload": {"user": 42}, "labels": {"team": "billing"}}
    store = f"sqlite:{tmp_path}/jobs.db"
    assert kron("load", write(file, json.dumps(line).encode()), "--store", store).status == 0

    async def job():
        async with open_store(store) as opened:
            return (await Registrar(opened).get("a/b")).job

    loaded = asyncio.run(job())
    assert (loaded.payload, loaded.labels) == ('{"user":42}', (("team", "billing"),))


def test_line_sets_the_limits_of_its_schedule(kron, database, file):
    line = json.dumps({**GOOD, "max_runs": 12, "pause_on_failure": 3, "after_end": "delete"}).encode()
    assert kron("load", write(file, line), "--store", database).status == 0
    (state,) = asked(database, lambda store: Registrar(store).schedules("a/b"))
    assert (state.policy.max_runs, state.policy.pause_on_failure, state.runs_left) == (12, 3, 12)
    assert state.policy.after_end == "delete"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("commnd", "did you mean 'command'?"),
        ("max_run", "did you mean 'max_runs'?"),
        ("url", "did you mean 'target'?"),
        ("retries", f"use one of {', '.join(ALL_KEYS)}"),
    ],
)
def test_hint_on_an_unknown_field_knows_all_fields_of_a_line(kron, file, name, hint):
    result = kron("load", write(file, json.dumps({**GOOD, name: "x"}).encode()), "--store", "memory:")
    assert result.err.splitlines()[:2] == [f"line 1: error[UNKNOWN_FIELD]: unknown field '{name}'", f"  hint: {hint}"]


def test_all_fields_of_a_line_are_those_of_the_page():
    text = (DOCS / "reference" / "targets.md").read_text(encoding="utf-8").partition("## Fields of `kron load`")[2]
    names = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert set(ALL_KEYS) == {word for cell in names for word in re.findall("`([a-z_]+)`", cell)}


@pytest.mark.parametrize("more", [{}, {"target": ""}, {"command": ""}, {"command": " "}, {"command": "", "target": ""}])
def test_line_without_target_and_command_is_rejected(kron, tmp_path, file, more):
    line = {"identity": "a", "schedule": "* * * * *", **more}
    result = kron("load", write(file, json.dumps(GOOD).encode(), json.dumps(line).encode()), "--store", "memory:")
    assert result.status == 1
    assert result.err.startswith(
        "line 2: error[BAD_LINE]: the line has neither target nor command\n"
        '  hint: add "target": "https://…" or "command": "…"\n'
    )
    assert "1 schedule defined" in result.err


def test_target_of_an_unknown_scheme_is_defined_with_a_warning(kron, file):
    lines = [json.dumps({**GOOD, "target": target}).encode() for target in ("HTTPS://hooks.example/a", "ftp://x")]
    result = kron("load", write(file, *lines), "--store", "memory:")
    assert result.status == 0
    assert result.err.splitlines()[:2] == [
        "line 2: warning: no worker of Kron launches the target 'ftp://x'",
        "  hint: use a target that begins with http:, https:, workflow:, command:, kubernetes:, python:",
    ]
    assert "2 schedules defined" in result.err
