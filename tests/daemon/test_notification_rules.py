"""Rules of notifications: what is told, once, what is a repeat, what a message says, and what happens if it hangs."""

import asyncio
import json
import os
import time
from email import message_from_bytes, policy

import pytest

from kron.apps.daemon.notifications import delivery
from kron.apps.daemon.notifications.decision import NOTHING, Decision, decide_gap, decide_run
from kron.apps.daemon.notifications.delivery import Deliveries
from kron.apps.daemon.notifications.message import Message
from kron.apps.daemon.notifications.notified import DAY_MS, Notified
from kron.language.krontab import read_table
from kron.language.notification_form import Means, Occasion, notification_form
from kron.rules.gap_record import GapRecord
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.job import Command

NOW = 1_800_000_000_000
FAILURE, MISSED, RECOVERY = Decision((Occasion.FAILURE,)), Decision((Occasion.MISSED,)), Decision((Occasion.RECOVERY,))


@pytest.fixture
def notified(tmp_path):
    return Notified(tmp_path / "notified.db")


def run(number, state=State.FAILED, **more):
    ended = {State.FAILED: Reason.FAILED, State.MISSED: Reason.DEADLINE, State.UNKNOWN: Reason.UNKNOWN}
    outcome = Outcome.MISSED if state is State.MISSED else Outcome.EXECUTED
    return Run(f"key{number}", "/t:job", 0, 1, NOW, state, outcome=outcome, reason=ended.get(state), **more)


def decide(notified, each, now=NOW, code=1, *, has_output=False):
    return decide_run(notified, each, code, now, has_output=has_output)


def test_run_is_told_once_also_by_the_next_daemon(notified, tmp_path):
    assert decide(notified, run(1)) == FAILURE
    assert decide(notified, run(1)) == NOTHING
    assert decide(Notified(tmp_path / "notified.db"), run(1), NOW + DAY_MS) == NOTHING


def test_repeats_of_a_day_are_one_message_with_a_count(notified):
    hour = DAY_MS // 24
    decisions = [decide(notified, run(number), NOW + number * hour) for number in range(50)]
    assert {number: each for number, each in enumerate(decisions) if each is not NOTHING and each.occasions} == {
        0: FAILURE,
        24: Decision((Occasion.FAILURE,), 23),
        48: Decision((Occasion.FAILURE,), 23),
    }


@pytest.mark.parametrize("other", [(run(2), 2), (run(2, State.UNKNOWN), None)])
def test_other_failure_is_no_repeat(notified, other):
    assert decide(notified, run(1)) == FAILURE
    assert decide(notified, other[0], code=other[1]) == FAILURE


def test_clock_that_was_set_back_does_not_silence_a_job(notified):
    decide(notified, run(1), NOW + 30 * DAY_MS)
    assert decide(notified, run(2), NOW).occasions == (Occasion.FAILURE,)


def test_success_after_problems_is_one_recovery_and_begins_anew(notified):
    assert decide(notified, run(1, State.SUCCESS)) == NOTHING
    assert decide(notified, run(2, State.MISSED)) == MISSED
    assert decide(notified, run(3, State.SUCCESS)) == RECOVERY
    assert decide(notified, run(4, State.SUCCESS)) == NOTHING
    assert decide(notified, run(5, State.MISSED)) == MISSED


@pytest.mark.parametrize("state", [State.SKIPPED, State.CANCELLED, State.UNSCHEDULABLE])
def test_runs_that_are_no_problem_are_not_told(notified, state):
    assert decide(notified, run(1, state)) == NOTHING


@pytest.mark.parametrize(("delay", "failures", "is_late"), [(60_000, 0, False), (60_001, 0, True), (60_001, 1, False)])
def test_late_is_more_than_a_minute_and_no_retry(notified, delay, failures, is_late):
    each = run(1, State.SUCCESS, sent=NOW + delay, failures=failures)
    assert (Occasion.LATE in decide(notified, each).occasions) is is_late


def test_output_is_told_for_each_run(notified):
    for number in (1, 2):
        assert decide(notified, run(number, State.SUCCESS), has_output=True) == Decision((Occasion.OUTPUT,))
    assert decide(notified, run(3), has_output=True) == Decision((Occasion.FAILURE, Occasion.OUTPUT))
    assert decide(notified, run(4), has_output=True) == Decision((Occasion.OUTPUT,))


def test_gap_is_told_once_and_only_if_it_was_missed(notified):
    gap = GapRecord(100, 900, 9, Outcome.MISSED, Reason.CATCHUP_NONE)
    assert decide_gap(notified, "/t:job", gap, NOW) == MISSED
    assert decide_gap(notified, "/t:job", gap, NOW + 2 * DAY_MS) == NOTHING
    skipped = GapRecord(1_000, 1_900, 9, Outcome.SKIPPED, Reason.PAUSED)
    assert decide_gap(notified, "/t:job", skipped, NOW) == NOTHING


def test_watched_since_the_first_time(notified):
    assert notified.since("/t:job") is None
    notified.watch(["/t:job"], 5)
    notified.watch(["/t:job"], 9)
    assert notified.since("/t:job") == 5


def message(identity="/etc/t:job", **more):
    return Message((Occasion.FAILURE,), identity, "key", 0, 0, 1, "failed", "failed", 3, **more)


def test_no_text_adds_a_header():
    hostile = "/etc/\r\nBcc: x@example.com\r\n\r\nbody/t\u2028\x85:job"
    mail = message_from_bytes(message(hostile, text="a\nBcc: y").as_mail(["root"]), policy=policy.default)
    assert (mail["Bcc"], mail["To"]) == (None, "root")
    assert mail["Subject"].endswith(": t :job failed")
    assert mail.get_content().startswith("job:     /etc/ Bcc: x@example.com body/t")


def test_long_name_gives_a_short_subject():
    mail = message_from_bytes(message("/t:" + "x" * 1_000).as_mail(["root"]), policy=policy.default)
    assert len(mail["Subject"]) == 200


def test_json_is_one_line_with_times():
    line = message(output="a\nb\n").as_json()
    assert line.count(b"\n") == 1
    facts = json.loads(line)
    assert (facts["period"], facts["output"], facts["job"]) == ("1970-01-01T00:00:00Z", "a\nb\n", "t:job")


def test_delivery_that_hangs_is_ended_with_its_children(tmp_path, monkeypatch):
    monkeypatch.setattr(delivery, "KILL_SECONDS", 0.2)
    program = tmp_path / "hangs"
    program.write_text(f"#!/bin/sh\ntrap '' TERM\necho $$ > {tmp_path}/pid\nsleep 1000 &\nwait\nwait\n")
    program.chmod(0o755)

    async def scene():
        deliveries = Deliveries(tmp_path, seconds=0.5)
        error = await deliveries.deliver([str(program)], b"", Command("true"))
        assert (error, deliveries.children) == (f"{program} was ended after 0.5 s", set())

    start = time.monotonic()
    asyncio.run(scene())
    assert time.monotonic() - start < 30
    group = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        for _ in range(500):
            os.killpg(group, 0)
            time.sleep(0.02)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("notify=fail:mail:x", "'fail' is not an occasion"),
        ("notify=failure", "'failure' has no target"),
        ("notify=failure:sms:1", "'sms:1' is not a target"),
        ("notify=failure:mail:-oQ/tmp", "'-oQ/tmp' is not a mail address"),
        ('notify="failure:mail:a b"', "'a b' is not a mail address"),
        ("notify=failure:exec:bin/x", "'bin/x' is not an absolute path"),
        ("mailto=x mailto=x", "duplicate notification mail:x"),
        ("mailto=" + ",".join("abcdefghijk"), "more than 10 addresses"),
        (" ".join(f"mailto=u{number}" for number in range(11)), "more than 10 notifications"),
    ],
)
def test_wrong_notification_is_refused(text, error):
    (found,) = read_table(f"0 0 * * * name=a command=x {text}\n", "/t").errors
    assert error in found.message


def test_notifications_of_a_line_are_read():
    keys = "notify=failure,missed:mail:ops@example.com,root notify=output:exec:/bin/x mailto=me"
    (job,) = read_table(f"0 0 * * * name=a command=x {keys}\n", "/t").jobs
    forms = [notification_form(*pair) for pair in job.command.notify]
    assert [(form.means, form.addresses) for form in forms] == [
        (Means.MAIL, ("ops@example.com", "root")),
        (Means.EXEC, ("/bin/x",)),
        (Means.MAIL, ("me",)),
    ]
    assert forms[0].occasions == {Occasion.FAILURE, Occasion.MISSED}
