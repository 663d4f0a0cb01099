"""Comparison of a shadow daemon with the log of cron: what only one of them ran, and why."""

import os
import stat
from datetime import UTC, datetime

import pytest

from kron.apps.krontab.shadow import cron_log, log_source
from kron.apps.krontab.shadow.comparison import (
    NEVER,
    NO_JOB,
    NO_PERIOD,
    NOT_RECORDED,
    OTHERS_ONLY,
    SEVERAL_TIMES,
    Side,
    compare,
)
from kron.apps.krontab.shadow.cron_log import Task, read_log
from kron.apps.krontab.shadow.log_source import log_lines, read_journal
from kron.apps.krontab.shadow.periods import ShadowPeriod, TaskPeriods
from kron.errors import KronError
from kron.language import parse
from kron.language.crontabs.log_time import LogReader
from kron.rules.outcome import REASON_TEXT, Reason
from kron.timing.job import Job
from kron.timing.zone import zone

START = int(datetime(2026, 3, 29, tzinfo=UTC).timestamp())
END = START + 3_600 * 4
BACKUP = Task("root", "/bin/backup")


def at(clock):
    """Milliseconds of a time of that day in UTC."""
    return int(datetime.fromisoformat(f"2026-03-29T{clock}+00:00").timestamp() * 1000)


def log_of(*lines):
    reader = LogReader(zone("UTC"), END)
    texts = [f"2026-03-29T{clock}Z host {text}" for clock, text in (("00:00:00", "x: begin"), *lines)]
    return read_log([reader.read(text) for text in texts], START * 1000)


def started(clock, task=BACKUP):
    return clock, f"CRON[7]: ({task.user}) CMD ({task.command})"


OTHER = started("00:50:00", Task("ana", "x"))


def group(*periods, schedule="*/10 * * * *", timezone="UTC"):
    """A job, and periods of it: a clock if krond would have started it, else a clock and the reason."""
    job = Job("/t:backup", parse(schedule, dialect="vixie", timezone=timezone), "backup")
    result = TaskPeriods([("t:backup", job)], START * 1000)
    for each in periods:
        clock, reason = each if isinstance(each, tuple) else (each, None)
        nominal = at(clock)
        sent, cause = (None if reason else nominal + 40), (reason if isinstance(reason, Reason) else None)
        result.periods.append(ShadowPeriod("t:backup", nominal // 1000, nominal, sent, cause))
    return {BACKUP: result}


def whys(result):
    return [(each.side, each.job, each.why) for each in result.differences]


def test_both():
    result = compare(group("01:00:00", "01:10:00"), log_of(started("01:00:02"), started("01:10:01")), START, END)
    assert [(each.cron_late, each.kron_late) for each in result.both] == [(2_000, 40), (1_000, 40)]
    assert (result.differences, result.neither) == ([], 0)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], NEVER),
        ([started("01:00:30", Task("ana", "x"))], OTHERS_ONLY),
        (
            [OTHER, ("00:59:00", "CRON[1]: pam_unix(cron:session): session closed")],
            "cron was stopped, or the log ends: it started nothing after 2026-03-29T00:50:00.000Z.",
        ),
        (
            [OTHER, started("01:02:00", Task("ana", "x"))],
            "cron started nothing from 2026-03-29T00:50:00.000Z to 2026-03-29T01:02:00.000Z.",
        ),
        (
            [OTHER, ("01:00:30", "cron[1]: (CRON) INFO (pidfile fd = 3)")],
            "cron was not running: it started nothing after 2026-03-29T00:50:00.000Z, and was started at "
            "2026-03-29T01:00:30.000Z.",
        ),
        (
            [("01:02:00", "cron[1]: (CRON) STARTUP (fork ok)")],
            "cron was not running: it was started at 2026-03-29T01:02:00.000Z.",
        ),
        ([started("01:02:00", Task("ana", "x"))], "cron started nothing before 2026-03-29T01:02:00.000Z."),
    ],
)
def test_why_cron_did_not_run_a_period(lines, why):
    (found,) = [each for each in whys(compare(group("01:00:00"), log_of(*lines), START, END)) if each[0] is Side.KRON]
    assert found == (Side.KRON, "t:backup", why)


def test_why_kron_would_not_have_run_what_cron_ran():
    log = log_of(started("01:00:01"), started("01:05:01"), started("02:00:01", Task("root", "other")))
    result = compare(group(("01:00:00", Reason.DEADLINE), ("03:00:00", Reason.CATCHUP_NONE)), log, START, END)
    assert whys(result) == [
        (Side.CRON, "t:backup", REASON_TEXT[Reason.DEADLINE]),
        (Side.CRON, "t:backup", NO_PERIOD),
        (Side.CRON, "", NO_JOB),
    ]
    assert result.neither == 1


def test_start_after_the_compared_time_is_not_a_late_one():
    tasks = group("01:00:00", ("01:10:00", "not recorded"))
    log = log_of(started("01:10:01"))
    result = compare(tasks, log, START, START + 3_600 + 300)
    assert whys(result) == [(Side.KRON, "t:backup", "cron started nothing before 2026-03-29T01:10:01.000Z.")]


def test_period_that_krond_has_not_recorded():
    assert whys(compare(group(("01:00:00", "not recorded")), log_of(started("01:00:01")), START, END)) == [
        (Side.CRON, "t:backup", NOT_RECORDED)
    ]
    assert compare(group(("01:00:00", "not recorded")), log_of(), START, END).neither == 1


def test_start_before_the_job_was_defined():
    tasks = group()
    tasks[BACKUP].began = at("02:00:00")
    ((_, _, why),) = whys(compare(tasks, log_of(started("01:00:01")), START, END))
    assert why == "krond read the job later, at 2026-03-29T02:00:00Z."


def test_several_times_that_the_clocks_skipped():
    tasks = group("01:00:00", schedule="0,30 2 * * *", timezone="Europe/Berlin")
    result = compare(tasks, log_of(started("01:00:01"), started("01:00:11")), START, END)
    assert len(result.both) == 1 and whys(result) == [(Side.CRON, "t:backup", SEVERAL_TIMES)]


def test_only_fixed_times_are_late_by_hours():
    for schedule, late in (("*/10 * * * *", 0), ("0 1 * * *", 1)):
        result = compare(group("01:00:00", schedule=schedule), log_of(started("02:30:00")), START, END)
        assert len(result.both) == late


def test_what_is_outside_of_the_compared_time_does_not_count():
    result = compare(group("01:00:00", "03:00:00"), log_of(started("00:10:01"), started("03:00:01")),
                     START + 3_600, START + 2 * 3_600)  # fmt: skip
    assert [each.nominal for each in result.differences] == [START + 3_600]


def test_number_of_records_is_bounded(monkeypatch):
    monkeypatch.setattr(cron_log, "MAX_RECORDS", 2)
    with pytest.raises(KronError, match=r"more than 2 lines of cron since 2026-03-29T00:00:00Z"):
        log_of(started("01:00:01"), started("02:00:01"), started("03:00:01"))


def test_lines_that_lost_their_end_are_counted():
    log = log_of(("01:00:01", "CRON[7]: (root) CMD (/bin/back"))
    assert log.cut == 1 and not log.starts


def test_entries_of_the_journal():
    def entry(message, name="CRON"):
        return read_journal(f'{{"__REALTIME_TIMESTAMP": "1774742401234567", "SYSLOG_IDENTIFIER": "{name}", "MESSAGE": {message}}}')  # fmt: skip  # noqa: E501

    assert entry('"(root) CMD (x)"') == ((1_774_742_401_234,), "CRON", "(root) CMD (x)")
    assert entry("[40, 114, 41, 255]").message == "(r)\udcff"
    assert entry("null") is None and entry('"x"', "sshd") is None and read_journal("{") is None


def test_journal_is_read_from_a_program(tmp_path, monkeypatch):
    program = tmp_path / "journalctl"
    program.write_text(
        "#!/bin/sh\n"
        'echo \'{"__REALTIME_TIMESTAMP": "1774742401234567", "SYSLOG_IDENTIFIER": "CRON", "MESSAGE": "\'"$5"\'"}\'\n'
        "exit ${STATUS:-0}\n"
    )
    program.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    (line,) = log_lines(["journal"], zone("UTC"), START, END)
    assert line.message == f"--since=@{START}"
    monkeypatch.setenv("STATUS", "1")
    with pytest.raises(KronError, match="journalctl has failed with status 1"):
        list(log_lines(["journal"], zone("UTC"), START, END))


def test_log_of_this_host(tmp_path, monkeypatch):
    monkeypatch.setattr(log_source, "LOG_FILES", (str(tmp_path / "none"), str(tmp_path / "syslog")))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KronError, match="this host has no log of cron"):
        log_source.default_source()
    (tmp_path / "syslog").touch()
    assert log_source.default_source() == str(tmp_path / "syslog")
