"""The log: a line of it is enough to compute the decision again, elsewhere."""

import json
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256

import pytest

from kron.engine.events import Event, line
from kron.engine.log import log_to
from kron.engine.log_events import text_of
from kron.timing.schedule.policy import DECLARATIVE, KRON, SECOND, SERVICE
from kron.timing.zone import instant_of, rfc3339_ms
from tests.engine.world import World, play

TEXT = "*/15 * * * * @tz(Europe/Paris) @win(after,10m) @dist(skewLate) @seed(daily,salt=x) @avoid(hours=3)"


async def logged(text=TEXT, policy=None, **more):
    """The lines of a worker that ran, skipped and missed."""
    world, lines = World("2026-03-01T12:10:00Z", duration=20 * 60), []
    world.worker.sink = world.worker.dispatcher.sink = log_to(lines.append)
    await world.define(text, policy, **more)
    await world.run("2026-03-01T13:30:00Z")
    world.sleep("2026-03-01T14:20:00Z")
    await world.run("2026-03-01T14:21:00Z")
    return lines


def verify(text, *options):
    command = [sys.executable, "-c", "import sys; from kron.apps.cli import main; sys.exit(main())", "verify", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


@pytest.mark.req("KSPEC-OBS-REPRO", "SVC-OBS-LOGS")
def test_a_real_line_is_enough_for_kron_verify():
    lines = play(logged())
    decided = [said for said in lines if "decision" in json.loads(said)]
    assert {json.loads(said)["event"] for said in decided} == {"run_recorded", "run_finished"}
    for said in (decided[0], next(said for said in decided if '"skipped"' in said)):
        told = verify(said)
        assert (told.returncode, told.stderr.strip()) == (0, "1 of 1 decisions are correct")
    moved = json.loads(decided[0])
    moved["decision"]["chosen_time"] = "2026-03-01T12:15:01Z"
    assert verify(json.dumps(moved)).returncode == 1


def test_a_whole_log_can_be_verified_whatever_else_it_says():
    lines = play(logged())
    told = verify("".join(lines))
    count = sum("decision" in json.loads(said) for said in lines)
    assert told.stderr.strip() == f"{count} of {count} decisions are correct"
    assert count < len(lines)
    assert verify("".join(said for said in lines if "decision" not in json.loads(said))).returncode != 0


@pytest.mark.parametrize("policy", [SERVICE, DECLARATIVE, KRON], ids=["service", "declarative", "kron"])
@pytest.mark.parametrize(
    ("text", "dialect", "zone"), [("*/15 * * * *", "posix", "UTC"), ("30 */15 * * * *", "service", "Asia/Tokyo")]
)
def test_so_can_the_decisions_of_every_dialect_and_preset(policy, text, dialect, zone):
    text = text if dialect == "service" else text.replace("*/15", "0,15,30,45")
    lines = play(logged(text, policy, dialect=dialect, zone=zone))
    told = verify("".join(lines))
    assert told.returncode == 0
    assert told.stdout.count("ok ") >= 4


@pytest.mark.req("SVC-OBS-LOGS")
def test_a_line_says_when_it_was_decided_what_became_of_it_and_why():
    said = [json.loads(each) for each in play(logged())]
    skipped = next(each for each in said if each.get("outcome") == "skipped")
    assert (skipped["event"], skipped["reason"], skipped["attempt"]) == ("run_finished", "overlap", 0)
    sent = next(each for each in said if each["event"] == "launch_completed")
    assert (sent["result"], sent["state"]) == ("ok", "enqueued")
    assert sent["sent"] >= sent["due_at"]


@pytest.mark.req("KSPEC-SEED-CANON")
def test_a_line_about_a_decided_period_shows_its_seed():
    said = [json.loads(each) for each in play(logged())]
    periods = [each for each in said if each["event"] in ("run_recorded", "run_finished") and each["attempt"] <= 1]
    seeds = {each["nominal"]: each["decision"]["seed_hash"] for each in periods if "decision" in each}
    assert seeds.keys() == {each["nominal"] for each in periods}
    assert set(seeds.values()) == {sha256(b"job\n2026-03-01\nx").hexdigest()}  # @seed(daily,salt=x)


def test_a_line_is_one_line_whatever_it_contains():
    said = line(Event("odd", 1, {"identity": "a\nb\u2028\x00\"'", "error": ValueError("x\ny")}))
    assert said.count("\n") == 0
    assert said.isascii()
    assert json.loads(said)["identity"] == "a\nb\u2028\x00\"'"


def test_a_run_by_request_is_no_decision_of_the_calendar():
    async def script():
        world, lines = World("2026-03-01T12:10:00Z", duration=1), []
        world.worker.sink = world.worker.dispatcher.sink = log_to(lines.append)
        await world.define("0 3 * * *")
        await world.registrar.trigger("job", "by hand")
        await world.tick()
        assert [json.loads(each)["trigger"] for each in lines if "trigger" in each]
        assert not [each for each in lines if "decision" in each]

    play(script())


def test_log_record_of_a_jittered_run_carries_the_jitter_and_verifies():
    policy = replace(SERVICE, jitter=200 * SECOND)
    lines = [json.loads(said) for said in play(logged("*/15 * * * *", policy))]
    decided = [said for said in lines if "decision" in said]
    assert decided
    for said in decided:
        assert said["decision"]["jitter_ms"] == 200_000
        assert said["decision"]["chosen_time"] == rfc3339_ms(said["due_at"])
    told = verify("".join(json.dumps(said) + "\n" for said in decided))
    assert (told.returncode, told.stderr.strip()) == (0, f"{len(decided)} of {len(decided)} decisions are correct")
    moved = decided[0] | {"decision": decided[0]["decision"] | {"jitter_ms": 100_000}}
    assert verify(json.dumps(moved)).returncode == 1
    moved = decided[0] | {"decision": decided[0]["decision"] | {"chosen_time": "2026-03-01T12:15:00.000Z"}}
    assert verify(json.dumps(moved)).returncode == 1


def test_log_record_of_jitter_clamped_to_the_validity_verifies():
    policy, end = replace(SERVICE, jitter=200 * SECOND), instant_of("2026-03-01T12:45:01Z")
    lines = [json.loads(said) for said in play(logged("*/15 * * * *", policy, end=end))]
    decided = [said for said in lines if "decision" in said]
    assert {said["decision"]["end_at"] for said in decided} == {"2026-03-01T12:45:01Z"}
    assert verify("".join(json.dumps(said) + "\n" for said in decided)).returncode == 0


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "1 period of a missed (deadline): 2026-03-01T12:00:00Z"),
        (2, "2 periods of a missed (deadline): 2026-03-01T12:00:00Z to 2026-03-01T13:00:00Z"),
    ],
)
def test_line_about_a_gap_counts_its_periods(count, text):
    first = instant_of("2026-03-01T12:00:00Z")
    span = {"first": first, "last": first + (count - 1) * 3600, "count": count}
    assert (
        text_of(Event("gap_recorded", 0, {"identity": "a", "outcome": "missed", "reason": "deadline"} | span)) == text
    )
