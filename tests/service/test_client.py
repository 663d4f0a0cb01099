"""The client and `kron schedules`, against a service on a socket."""

import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kron.client import AsyncClient, Client
from kron.errors import AccessDenied, InvalidInput, LanguageError, NotFound, RevisionConflict, Unavailable
from tests.service.http import serving
from tests.service.tokens import settings, token

HOOK = "http://127.0.0.1:9/hook"
DEFINITION = {"schedule": "0 9 * * *", "timezone": "UTC", "target": HOOK}
KRON = str(Path(sys.executable).parent / "kron")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with serving(**settings(tmp_path_factory.mktemp("keys"))) as service:
        yield service


def run(service, *words, stdin=None, tenant="cli", status=0):
    env = {**os.environ, "KRON_URL": f"http://127.0.0.1:{service.port}", "KRON_TOKEN": token(tenant), "NO_COLOR": "1"}
    done = subprocess.run(
        [KRON, "schedules", *words], capture_output=True, text=True, env=env, input=stdin, check=False
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def test_the_client_does_all_that_may_be_done(guarded):
    client = Client(f"http://127.0.0.1:{guarded.port}", token("client"))
    made = client.apply("a", DEFINITION, revision=0)
    assert (made["id"], made["revision"]) == ("a", 1)
    with pytest.raises(RevisionConflict, match="REVISION"):
        client.apply("a", {**DEFINITION, "schedule": "1 1 * * *"}, revision=0)
    assert client.apply("a", {**DEFINITION, "schedule": "1 1 * * *"}, revision=1)["revision"] == 2
    for n in range(5):
        client.apply(f"b{n}", DEFINITION)
    assert [each["id"] for each in client.schedules(page=2)] == ["a", "b0", "b1", "b2", "b3", "b4"]
    assert client.pause("b1", note="x", until="2099-01-01T00:00:00Z")["paused_until"] == "2099-01-01T00:00:00Z"
    assert [each["id"] for each in client.schedules("b", paused=True)] == ["b1"]
    assert client.resume("b1")["paused"] is False
    key = client.trigger("a", key="k")["key"]
    assert client.trigger("a", key="k")["key"] == key
    assert [each["key"] for each in client.runs("a")] == [key]
    assert len(client.backfill("b0", "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z")) == 2
    assert len(client.next("a", 7)["runs"]) == len(client.preview("new", DEFINITION, 7)["runs"]) == 7
    assert client.why("a")["explanation"]
    assert client.report(key, "success") is False  # nobody has sent it yet
    client.delete("b4", note="gone")
    with pytest.raises(NotFound) as caught:
        client.get("b4")
    assert caught.value.code == "NOT_FOUND"


def test_an_error_of_the_language_comes_with_its_place(guarded):
    client = Client(f"http://127.0.0.1:{guarded.port}", token("client"))
    with pytest.raises(LanguageError) as caught:
        client.apply("bad", {**DEFINITION, "schedule": "0 25 * * *"})
    assert caught.value.span == (2, 4)
    assert "^^" in str(caught.value)
    with pytest.raises(AccessDenied, match="UNAUTHENTICATED"):
        Client(f"http://127.0.0.1:{guarded.port}").get("a")
    with pytest.raises(Unavailable, match="does not answer"):
        Client("http://127.0.0.1:9", timeout=1).get("a")


def test_the_client_of_asyncio_is_the_same(guarded):
    async def script():
        client = AsyncClient(f"http://127.0.0.1:{guarded.port}", token("async"))
        made = await asyncio.gather(*(client.apply(f"j{n}", DEFINITION) for n in range(5)))
        assert [each["revision"] for each in made] == [1] * 5
        assert len([each async for each in client.schedules()]) == 5
        assert (await client.pause("j1"))["paused"]
        assert not (await client.resume("j1"))["paused"]
        assert (await client.get("j2"))["schedule"] == "0 9 * * *"
        assert len((await client.next("j2", 3))["runs"]) == 3
        run = await client.trigger("j3")
        assert [each["key"] async for each in client.runs("j3")] == [run["key"]]
        assert await client.report(run["key"], "started") is False
        await client.delete("j4")

    asyncio.run(script())


def test_async_client_backfills_previews_and_explains(guarded):
    async def script():
        client = AsyncClient(f"http://127.0.0.1:{guarded.port}", token("async-more"))
        made = await client.apply("a", DEFINITION, revision=0)
        with pytest.raises(RevisionConflict, match="REVISION"):
            await client.apply("a", {**DEFINITION, "schedule": "1 1 * * *"}, revision=made["revision"] + 1)
        days = ("2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z")
        runs = await client.backfill("a", *days, key="k", overlap="allow")
        assert [run["period"] for run in runs] == [f"2026-01-0{day}T09:00:00Z" for day in (1, 2, 3)]
        assert await client.backfill("a", *days, key="k") == runs
        shown = await client.preview("new", DEFINITION, n=3)
        assert len(shown["runs"]) == 3
        assert (await client.next("a", 7, until=shown["runs"][2]["at"]))["runs"] == shown["runs"]
        assert (await client.why("a", runs[1]["period"]))["period"] == runs[1]["period"]
        assert [each async for each in client.dead_letters("a")] == []
        with pytest.raises(InvalidInput, match="NOT_DEAD"):
            await client.redrive(runs[0]["key"], overlap="allow")
        assert [each["id"] async for each in client.schedules("a", False, 1)] == ["a"]
        assert (await client.request("GET", "/v1/schedules/a"))["id"] == "a"
        with pytest.raises(RevisionConflict, match="REVISION"):
            await client.delete("a", note="gone", revision=7)
        await client.delete("a", note="gone", revision=1)
        with pytest.raises(LanguageError):
            await client.preview("new", {**DEFINITION, "schedule": "0 25 * * *"})

    asyncio.run(script())


def test_client_creates_changes_and_tells_the_history(guarded):
    client = Client(f"http://127.0.0.1:{guarded.port}", token("more"))
    made = client.create(DEFINITION, key="one")
    assert client.create(DEFINITION, key="one")["id"] == made["id"]
    assert client.create(DEFINITION)["id"] != made["id"]
    changed = client.update(made["id"], {"description": "new", "timezone": "Europe/Paris"}, revision=1)
    assert (changed["description"], changed["timezone"], changed["revision"]) == ("new", "Europe/Paris", 2)
    assert client.update(made["id"], {"description": None})["description"] == ""
    with pytest.raises(RevisionConflict, match="REVISION"):
        client.update(made["id"], {"description": "late"}, revision=1)
    assert [change["revision"] for change in client.history(made["id"])] == [1, 2, 3]
    assert "BEGIN:VEVENT" in client.calendar(made["id"])
    assert isinstance(client.webhook_secrets(), list)


def test_client_defines_in_bulk_and_reads_runs_page_by_page(guarded):
    client = Client(f"http://127.0.0.1:{guarded.port}", token("bulk"))
    definitions = [{"id": f"b{n:04}", **DEFINITION} for n in range(1_001)]
    definitions[700]["schedule"] = "0 25 * * *"
    answers = list(client.bulk(iter(definitions)))
    assert [answer["line"] for answer in answers] == list(range(1, 1_002))
    assert [n for n, answer in enumerate(answers) if answer["status"] != 200] == [700]
    assert answers[700]["problem"]["code"] == "OUT_OF_RANGE"
    assert sum(1 for _ in client.schedules("b", page=300)) == 1_000
    keys = [client.trigger("b0000", key=str(n))["key"] for n in range(7)]
    assert {run["key"] for run in client.runs("b0000", page=3)} == set(keys)
    assert len(list(client.runs("b0000", limit=5, page=3))) == 5
    assert list(client.runs("b0000", limit=0)) == []


def public_methods(kind):
    return {name: member for name, member in inspect.getmembers(kind, callable) if not name.startswith("_")}


def test_both_clients_have_the_same_methods_and_signatures():
    blocking, asynchronous = public_methods(Client), public_methods(AsyncClient)
    assert asynchronous.keys() == blocking.keys()
    for name, method in blocking.items():
        iterates = inspect.signature(method).return_annotation.startswith("Iterator[")
        is_expected = inspect.isasyncgenfunction if iterates else inspect.iscoroutinefunction
        assert is_expected(asynchronous[name]), name
        assert inspect.signature(asynchronous[name]) == inspect.signature(method), name
        assert asynchronous[name].__doc__ == method.__doc__
    assert inspect.signature(AsyncClient) == inspect.signature(Client)


TYPED = """
from collections.abc import AsyncIterator
from typing import Any, assert_type
from kron.client import AsyncClient, DeadLetter, Definition, Run, Schedule, UpcomingRuns, Why

async def script(client: AsyncClient) -> None:
    assert_type(await client.get("a"), Schedule)
    assert_type(await client.apply("a", {}, revision=1), Schedule)
    assert_type(client.schedules("a", paused=True, page=5), AsyncIterator[Schedule])
    assert_type(await client.backfill("a", "b", "c", key="k", overlap="queue"), list[Run])
    assert_type(await client.preview("a", {}, n=3, until=None), UpcomingRuns)
    assert_type(client.dead_letters(limit=3), AsyncIterator[DeadLetter])
    assert_type(await client.why("a", at=None), Why)
    assert_type(await client.report("k", "success", attempt=1), bool)
    await client.pause("a", untill="x")
    await client.get(5)
    await client.trigger()
    await client.apply("a", Definition(schedule="@daily", overlap_policy="often"))
"""


def test_type_checkers_know_the_methods_of_the_async_client(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "typed.py").write_text(TYPED)
    source = Path(__file__).parents[2] / "src"
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", f"--cache-dir={tmp_path}", "typed.py"]
    env = {**os.environ, "MYPYPATH": str(source)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    errors = re.findall(r"^typed\.py:(\d+): error: .*\[(.+)\]$", done.stdout, re.MULTILINE)
    expected = [("15", "call-arg"), ("16", "arg-type"), ("17", "call-arg"), ("18", "typeddict-item")]
    assert errors == expected, done.stdout + done.stderr


def test_the_command_line_from_a_file_to_the_runs(guarded, tmp_path):
    path = tmp_path / "schedules.toml"
    path.write_text(f'[schedules.mail]\nschedule = "0 9 * * *"\ntimezone = "UTC"\ntarget = "{HOOK}"\n')
    dry = run(guarded, "apply", "-f", str(path), "--dry-run")
    assert dry.startswith("mail: 30 added, 0 moved, 0 lost until ")
    assert dry.count("\n  + ") == 11
    assert run(guarded, "list") == "ID  SCHEDULE  ZONE  NEXT  PAUSED\n"  # nothing was done
    assert run(guarded, "apply", "-f", str(path)).startswith("mail: revision 1, At 09:00 every day")
    assert "mail: no run changes until" in run(guarded, "apply", "-f", str(path), "--dry-run")
    path.write_text(path.read_text().replace("0 9 * * *", "0 10 * * MON"))
    told = json.loads(run(guarded, "apply", "-f", str(path), "--dry-run", "-o", "json"))["mail"]
    assert len(told["lost"]) == 30
    assert 4 <= len(told["added"]) <= 5
    assert run(guarded, "list", "-o", "name") == "mail\n"
    assert json.loads(run(guarded, "get", "mail", "-o", "json"))["revision"] == 1
    assert "schedule        0 9 * * *" in run(guarded, "get", "mail")
    (line,) = run(guarded, "pause", "mail", "--note", "holidays").splitlines()[1:]
    assert line.split()[-2:] == ["-", "yes"], "a paused schedule has no next run"
    assert run(guarded, "resume", "mail", "-o", "name") == "mail\n"
    assert run(guarded, "next", "mail", "-n", "3").count("\n") == 4
    assert "pending" in run(guarded, "trigger", "mail", "--key", "now")
    assert run(guarded, "runs", "mail").count("\n") == 2
    assert (
        run(guarded, "backfill", "mail", "--first", "2026-01-01T00:00:00Z", "--last", "2026-01-02T12:00:00Z").count(
            "\n"
        )
        == 3
    )
    assert "revision 1 by svc@acme" in run(guarded, "why", "mail")
    run(guarded, "delete", "mail", "--note", "done")
    assert "error[NOT_FOUND]" in run(guarded, "get", "mail", status=1)
    text = json.dumps([{"id": "s", **DEFINITION, "schedule": "0 25 * * *"}])
    assert "^^" in run(guarded, "apply", "-f", "-", stdin=text, status=1)


def test_a_window_that_moves_is_shown_as_moved(guarded, tmp_path):
    """The window is twelve hours away: inside of it, the run of today can be in the past for one of the two."""
    path, hour = tmp_path / "w.json", (datetime.now(UTC).hour + 12) % 24
    line = f"0 {hour} * * * @win(after,3h)"
    body = {"schedule": line, "dialect": "kron", "target": HOOK}
    path.write_text(json.dumps({"schedules": {"w": body}}))
    run(guarded, "apply", "-f", str(path))
    path.write_text(json.dumps({"schedules": {"w": {**body, "schedule": f"{line} @seed(stable,salt=b)"}}}))
    dry = run(guarded, "apply", "-f", str(path), "--dry-run")
    assert " 0 lost until " in dry
    assert "  ~ " in dry
    run(guarded, "delete", "w")


@pytest.mark.parametrize("text", ["[]x", "5", '[{"schedule": "x"}]', '{"schedules": [1]}'])
def test_a_file_without_schedules_is_refused(guarded, tmp_path, text):
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert "error[BAD_FILE]" in run(guarded, "apply", "-f", str(path), status=1)


def test_dry_run_names_a_changed_target_and_a_wrong_id(guarded, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"schedules": {"t": DEFINITION}}))
    run(guarded, "apply", "-f", str(path))
    wrong = {**DEFINITION, "schedule": "0 25 * * *"}
    changed = {**DEFINITION, "target": HOOK + "-other"}
    path.write_text(json.dumps({"schedules": {"a-wrong": wrong, "t": changed}}))
    assert "a-wrong: error[OUT_OF_RANGE]" in run(guarded, "apply", "-f", str(path), "--dry-run", status=1)
    path.write_text(json.dumps({"schedules": {"t": changed}}))
    told = run(guarded, "apply", "-f", str(path), "--dry-run")
    assert f"  * target: {DEFINITION['target']} -> {HOOK}-other" in told
    run(guarded, "delete", "t")


def test_another_spelling_is_shown_as_a_change_of_the_text(guarded, tmp_path):
    path = tmp_path / "s.json"
    body = {**DEFINITION, "schedule": "0 9 * * 1-5"}
    path.write_text(json.dumps({"schedules": {"spelled": body}}))
    run(guarded, "apply", "-f", str(path))
    shown = run(guarded, "get", "spelled")
    assert "schedule        0 9 * * 1-5\n" in shown
    assert "canonical       0 9 * * MON-FRI\n" in shown
    path.write_text(json.dumps({"schedules": {"spelled": {**body, "schedule": "0 9 * * MON-FRI"}}}))
    dry = run(guarded, "apply", "-f", str(path), "--dry-run")
    assert dry.startswith("spelled: no run changes until ")
    assert "  * schedule: 0 9 * * 1-5 -> 0 9 * * MON-FRI\n" in dry
    assert run(guarded, "apply", "-f", str(path)).startswith("spelled: revision 2, ")
    assert "canonical" not in run(guarded, "get", "spelled"), "it is the text itself"
    body = {"schedule": "0 9 * * * @tz(Europe/Paris)", "dialect": "kron", "target": HOOK}
    path.write_text(json.dumps({"schedules": {"spelled": body}}))
    run(guarded, "apply", "-f", str(path))
    assert "@tz(Europe/Paris)  -  " in run(guarded, "list")
