"""Lines of cron in the system log: what they say, and when they were written."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kron.language.crontabs.command_input import split_input, with_input, without_input
from kron.language.crontabs.log_line import CronMessage, MessageKind, is_cron, logged_command, read_message
from kron.language.crontabs.log_time import LogReader
from kron.timing.zone import rfc3339_ms, zone
from tests.oracle import EPOCH

BERLIN = ZoneInfo("Europe/Berlin")
NOW = int(datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp())
commands = st.text(st.characters(exclude_characters="\0\n", exclude_categories=["Cs"]), max_size=40)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(root) CMD (/bin/backup)", CronMessage(MessageKind.COMMAND, "root", "/bin/backup")),
        ("(ana) CMD ((cd /; ls) | wc)", CronMessage(MessageKind.COMMAND, "ana", "(cd /; ls) | wc")),
        ("(root) CMD ([8123] /bin/backup)", CronMessage(MessageKind.COMMAND, "root", "/bin/backup")),
        ("(root) CMD ([ -x /bin/a ] && /bin/a)", CronMessage(MessageKind.COMMAND, "root", "[ -x /bin/a ] && /bin/a")),
        ("(root) CMD (/bin/a) CMD (b)", CronMessage(MessageKind.COMMAND, "root", "/bin/a) CMD (b")),
        ("(root) CMD (/bin/back", CronMessage(MessageKind.CUT)),
        ("(root) END (/bin/backup)", CronMessage(MessageKind.OTHER)),
        ("(root) CMDEND (/bin/backup)", CronMessage(MessageKind.OTHER)),
        ("pam_unix(cron:session): session opened for user root", CronMessage(MessageKind.OTHER)),
        ("(CRON) STARTUP (fork ok)", CronMessage(MessageKind.STARTUP)),
        ("(CRON) INFO (pidfile fd = 3)", CronMessage(MessageKind.STARTUP)),
        ("(CRON) INFO (RANDOM_DELAY will be scaled)", CronMessage(MessageKind.OTHER)),
    ],
)
def test_messages_of_cron(text, message):
    assert read_message(text) == message


@pytest.mark.parametrize("name", ["CRON", "cron", "/USR/SBIN/CRON", "crond", "CROND"])
def test_programs_that_are_cron(name):
    assert is_cron(name)


@pytest.mark.parametrize("name", ["anacron", "crontab", "systemd", ""])
def test_programs_that_are_not_cron(name):
    assert not is_cron(name)


def test_command_is_compared_as_cron_writes_it():
    assert logged_command("echo 'a'\tb") == "echo 'a'^Ib"
    assert logged_command("touch ü\x7f") == "touch \\303\\274^?"


@given(commands)
@example("plain")
def test_logged_command_is_printable_and_has_one_message(command):
    logged = logged_command(command)
    assert logged.isascii() and all(" " <= character <= "~" for character in logged)
    if not logged.startswith("["):
        assert read_message(f"(root) CMD ({logged})") == CronMessage(MessageKind.COMMAND, "root", logged)


@given(commands, st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20))
@example("cat 'it''s'", "a'b\n\"'\"")
def test_command_with_input_is_found_again(command, text):
    assert without_input(with_input(command, f"{text}\n", None)) == command


@pytest.mark.parametrize("command", ["printf x | y", "printf '%s\\n' 'a' | '/bin/sh' -c 'b' && c", "true"])
def test_any_other_command_stays(command):
    assert without_input(command) == command


def test_percent_signs_of_a_line_are_not_in_the_log():
    command, text = split_input(r"mail -s \%x bob%Hello%there")
    assert logged_command(without_input(with_input(command, text, None))) == "mail -s %x bob"


def read(*lines, timezone="Europe/Berlin", now=NOW):
    reader = LogReader(zone(timezone), now)
    return [[rfc3339_ms(at) for at in line.instants] if (line := reader.read(text)) else None for text in lines]


def test_times_of_log_lines():
    assert read(
        "2026-11-18T12:00:01.123456+01:00 host CRON[1]: (root) CMD (x)",
        "2026-11-18T11:00:01Z host CRON[1]: (root) CMD (x)",
        "Nov 18 12:00:01 host CRON[1]: (root) CMD (x)",
        "<78>Nov  8 12:00:01 CRON[1]: (root) CMD (x)",
        "Nov 19 12:00:01 host CRON[1]: (root) CMD (x)",
        "Dec 31 23:59:01 host CRON[1]: (root) CMD (x)",
        "Feb 29 00:00:01 host CRON[1]: (root) CMD (x)",
        "Mar 29 02:30:00 host CRON[1]: a time that did not exist",
    ) == [
        ["2026-11-18T11:00:01.123Z"],
        ["2026-11-18T11:00:01.000Z"],
        ["2026-11-18T11:00:01.000Z"],
        ["2026-11-08T11:00:01.000Z"],
        ["2026-11-19T11:00:01.000Z"],
        ["2025-12-31T22:59:01.000Z"],
        ["2024-02-28T23:00:01.000Z"],
        ["2026-03-29T01:30:00.000Z"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "Xyz 18 12:00:01 h CRON[1]: x",
        "Nov 32 12:00:01 h CRON: x",
        "2026-13-01T00:00:00Z h CRON[1]: x",
        "(root)",
    ],
)
def test_what_is_not_a_log_line(text):
    assert read(text) == [None]


def test_times_of_a_night_in_which_the_clocks_go_back():
    clocks = ("02:00:01", "02:59:01", "02:00:01", "03:00:01")
    assert read(*(f"Oct 25 {clock} h CRON[1]: (root) CMD (x)" for clock in clocks)) == [
        ["2026-10-25T00:00:01.000Z", "2026-10-25T01:00:01.000Z"],
        ["2026-10-25T00:59:01.000Z", "2026-10-25T01:59:01.000Z"],
        ["2026-10-25T01:00:01.000Z"],
        ["2026-10-25T02:00:01.000Z"],
    ]


@given(st.lists(st.integers(NOW - 300 * 86_400, NOW), min_size=1, max_size=20).map(sorted))
def test_instant_of_a_line_without_a_year_is_among_those_that_are_read(instants):
    reader = LogReader(zone("Europe/Berlin"), NOW)
    for at in instants:
        wall = (EPOCH + timedelta(seconds=at)).astimezone(BERLIN)
        line = reader.read(f"{wall:%b} {wall.day:2d} {wall:%H:%M:%S} host CRON[1]: (root) CMD (x)")
        assert at * 1000 in line.instants
