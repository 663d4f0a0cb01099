"""Crontabs as krontab files: the written file is read back, and its jobs run when cron runs the lines.

The golden file is the krontab of 200 lines as they occur in practice. To write it again, and to review the difference:

    python -m tests.language.test_crontab_import --write && git diff tests/golden
"""

import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kron.errors import LanguageError
from kron.language import parse
from kron.language.boot_form import is_boot
from kron.language.crontabs.command_input import split_input, with_input
from kron.language.crontabs.convert import Host, convert
from kron.language.crontabs.line import read_variable
from kron.language.crontabs.naming import base_name
from kron.language.crontabs.read import Crontab
from kron.language.crontabs.row import Status
from kron.language.crontabs.write import proposal, schedule_text, write_krontab
from kron.language.field_errors import MACROS
from kron.language.krontab import read_table
from kron.timing.period import count_nominals, nominals
from kron.timing.schedule.policy import KRON, MINUTE, Overlap
from kron.timing.zone import LATEST, zone
from tests.language import crontab_oracle

TESTS = Path(__file__).parents[1]
LINES = (TESTS / "vectors" / "crontab_import.txt").read_text(encoding="utf-8")
GOLDEN = TESTS / "golden" / "crontab_import.krontab"
BERLIN = "Europe/Berlin"
NOW = int(datetime(2026, 1, 15, tzinfo=UTC).timestamp())
BEFORE_CHANGES = [datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)]
FIRINGS = 1_000
ONE_PERIOD = "Kron runs it once"  # part of the note about the one deliberate difference


def host(timezone=BERLIN, home=lambda user: f"/home/{user}"):
    return Host(zone(timezone), NOW, home)


def rows_of(text, user=None, timezone=BERLIN, **more):
    return convert([Crontab(text, "crontab", user)], host(timezone, **more))


def jobs_of(text, user=None, timezone=BERLIN):
    """The jobs that a krontab reader finds in the written file."""
    table = read_table(write_krontab(rows_of(text, user, timezone), timezone), "/krontab")
    assert table.errors == ()
    return list(table.jobs)


def job_of(line, **more):
    (job,) = jobs_of(f"{line}\n", user="alice", **more)
    return job


def row_of(line, **more):
    return rows_of(f"{line}\n", user="alice", **more)[-1]


def error_of(text, user="alice"):
    (error,) = [row.error for row in rows_of(text, user) if row.error]
    return error.code, error.place.line, error.place.text[error.place.start : error.place.end], error.hint


# The lines of practice

ALL_ROWS = convert([Crontab(LINES, "crontab")], host())
ROWS = [row for row in ALL_ROWS if row.status is Status.IMPORTED]


def oracle(row, start):
    """The firings that cronsim computes without end, one for each start of the command, in the zone of the row."""
    fields = re.match(r"\s*-?(@\w+|\S+(?:\s+\S+){4})", row.text)[1]
    fields = MACROS.get(fields.lower(), fields)
    fields = " ".join(str(int(part.split("~")[0] or 0)) if "~" in part else part for part in fields.split())
    name = row.job.schedule.zone.name
    for time in CronSim(fields, start.astimezone(UTC if name == "UTC" else ZoneInfo(name))):
        yield int(time.timestamp())


def test_there_are_two_hundred_lines_and_all_are_imported():
    rows = convert([Crontab(LINES, "crontab")], host())
    assert len(ROWS) == 200
    assert [row for row in rows if row.status in (Status.FAILED, Status.NOTED)] == []
    assert sum(row.status is Status.REBOOT for row in rows) == 2


def test_written_krontab_is_the_golden_file():
    text = write_krontab(convert([Crontab(LINES, "crontab")], host()), BERLIN)
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_written_krontab_is_read_back_with_the_same_jobs():
    table = read_table(GOLDEN.read_text(encoding="utf-8"), "/krontab")
    assert table.errors == ()
    assert [(job.name, job.command, job.schedule) for job in table.jobs] == [
        (row.job.name, row.job.command, row.job.schedule) for row in ALL_ROWS if row.job
    ]


@pytest.mark.slow
@pytest.mark.parametrize("start", BEFORE_CHANGES, ids=["spring", "autumn"])
def test_next_thousand_firings_are_those_of_debian_cron(start):
    """From before the gap, and from before the fold for lines whose thousand firings end earlier."""
    table, differences = read_table(GOLDEN.read_text(encoding="utf-8"), "/krontab"), []
    jobs = [job for job in table.jobs if not is_boot(job.schedule)]
    for row, job in zip(ROWS, jobs, strict=True):
        if start != BEFORE_CHANGES[0] and not is_frequent(job):
            continue
        expected = list(islice(oracle(row, start), FIRINGS))
        assert len(expected) == FIRINGS
        if any(ONE_PERIOD in note for note in row.notes):
            expected = sorted(set(expected))
        found = list(islice(nominals(job.schedule, int(start.timestamp()), LATEST), len(expected)))
        if found != expected:
            differences.append(row.text)
    assert differences == []


def is_frequent(job):
    spring, autumn = (int(start.timestamp()) for start in BEFORE_CHANGES)
    return count_nominals(job.schedule, spring, autumn) >= FIRINGS


def test_a_note_names_the_lines_that_cron_runs_several_times_after_a_gap():
    noted = {row.text.rpartition(" ")[2] for row in ROWS if any(ONE_PERIOD in note for note in row.notes)}
    assert noted == {"two-times-at-two", "two-and-three", "each-listed-hour", "listed-minutes-at-two", "night"}


# Any line

NUMBERS = {0: (0, 59), 1: (0, 23), 2: (1, 31), 3: (1, 12), 4: (0, 7)}
NAMES = {3: crontab_oracle.MONTHS, 4: crontab_oracle.WEEKDAYS}


@st.composite
def fields(draw, index):
    low, high = NUMBERS[index]
    first, last = sorted((draw(st.integers(low, high)), draw(st.integers(low, high))))
    step = draw(st.integers(1, high))
    name = draw(st.sampled_from(NAMES[index])) if index in NAMES else str(first)
    forms = ["*", "*", f"*/{step}", str(first), f"{first}-{last}", f"{first}-{last}/{step}", f"{first},{last}", name]
    return draw(st.sampled_from(forms))


schedules = st.tuples(*(fields(index) for index in range(5))).map(" ".join)
CHANGES = [
    (BERLIN, datetime(2026, 3, 29, 1, tzinfo=UTC)),
    (BERLIN, datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
    ("UTC", datetime(2026, 3, 1, tzinfo=UTC)),
]


@settings(max_examples=60, deadline=None)
@given(schedules, st.sampled_from(CHANGES))
@example("0 0 */2 * MON", CHANGES[0])
@example("0,30 1-3 * * *", CHANGES[0])
@example("30 2 * * 7", CHANGES[1])
@example("*/15 2 * * *", CHANGES[0])
def test_written_line_fires_when_cron_starts_it(schedule, change):
    timezone, at = change
    start, end = int(at.timestamp()) - 36_000, int(at.timestamp()) + 36_000
    (row,) = rows_of(f"{schedule} x\n", "alice", timezone)
    if row.status is Status.FAILED:
        assert row.error.code == "NEVER"
        return
    (job,) = jobs_of(f"{schedule} x\n", "alice", timezone)
    expected, found = (
        crontab_oracle.runs(schedule, timezone, start, end),
        list(nominals(job.schedule, start - 1, end - 1)),
    )
    assert found == sorted(set(expected))
    if len(expected) > len(found):
        assert any(ONE_PERIOD in note for note in row.notes)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0"), max_size=40)
pieces = st.lists(st.sampled_from(["%", "\\", "\\%", "'", '"', " ", "#", "\t", "a", "$x", "=", "@tz("]), max_size=12)


@settings(max_examples=300, deadline=None)
@given(st.one_of(texts, pieces.map("".join)), texts)
def test_any_command_and_variable_survive_writing_and_reading(command, value):
    rows = rows_of(f"VALUE={value}\n* * * * * {command}\n", "alice", "UTC")
    table = read_table(write_krontab(rows, "UTC"), "/krontab")
    jobs = [row.job for row in rows if row.job]
    assert table.errors == ()
    assert [job.command for job in table.jobs] == [job.command for job in jobs]
    failed = [row for row in rows if row.status is Status.FAILED]
    assert len(jobs) + len(failed) >= 1


@settings(max_examples=500, deadline=None)
@given(st.one_of(texts, pieces.map("".join)))
def test_percent_signs_split_a_command_as_cron_does(text):
    assert split_input(text) == crontab_oracle.split(text)


@pytest.mark.parametrize(
    ("written", "line", "data"),
    [
        ("cat", "cat", ""),
        ("cat%", "cat", ""),
        ("cat%one", "cat", "one\n"),
        ("cat%one%%two%", "cat", "one\n\ntwo\n"),
        (r"date +\%F", "date +%F", ""),
        (r"echo \%%100\%", "echo %", "100%\n"),
        (r"echo \\%x", r"echo \\", "x\n"),
        (r"cat%a\b\\%c", "cat", "a\\b\\%c\n"),
    ],
)
def test_percent_sign_examples(written, line, data):
    assert split_input(written) == (line, data)


@pytest.mark.skipif(sys.platform == "win32", reason="needs /bin/sh")
@pytest.mark.parametrize("text", ["one\n", "it's\n", "\n", "a\n\n%s \\n $HOME `x`\n", "-n\n", '"q" \\\n'])
def test_shell_gives_the_command_its_input(text):
    for command, prefix in (("cat", ""), ("cat # a comment)", ""), ("echo 'it'\\''s'; cat", "it's\n")):
        line = with_input(command, text, None)
        assert subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True).stdout == prefix + text
    failing = with_input("cat > /dev/null; exit 3", text, "/bin/sh")
    assert subprocess.run(["/bin/sh", "-c", failing]).returncode == 3


# Each row of the table


def test_user_column_is_the_user_and_an_owner_stands_for_it():
    (job,) = jobs_of("0 5 * * * bob /bin/x y\n")
    assert (job.command.user, job.command.line) == ("bob", "/bin/x y")
    assert job_of("0 5 * * * bob /bin/x y").command.line == "bob /bin/x y"
    assert job_of("0 5 * * * /bin/x").command.user == "alice"


def test_variables_apply_to_the_lines_below():
    first, second, third = jobs_of("0 5 * * * a\nA=1\nB='x y'\n0 5 * * * b\nA=2\n0 5 * * * c\n", "alice")
    assert first.command.env == ()
    assert second.command.env == (("A", "1"), ("B", "x y"))
    assert third.command.env == (("A", "2"), ("B", "x y"))


def test_variables_with_a_meaning_become_keys():
    (job,) = jobs_of("SHELL=/bin/bash\nHOME=/srv\nTZ=Asia/Tokyo\nMAILTO=x@example.com\n0 5 * * * a\n", "alice")
    assert (job.command.shell, job.command.cwd) == ("/bin/bash", "/srv")
    assert job.command.env == (("HOME", "/srv"), ("TZ", "Asia/Tokyo"))
    assert job.schedule.zone.name == BERLIN


def test_command_starts_in_the_home_directory_that_exists():
    assert job_of("0 5 * * * a").command.cwd == "/home/alice"
    row = row_of("0 5 * * * a", home=lambda user: "")
    assert (row.job.command.cwd, row.notes) == (None, ())
    row = row_of("0 5 * * * a", home=lambda user: None)
    assert (row.job.command.cwd, row.notes) == (None, ("User alice does not exist on this host.",))


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("MAILTO=|program", "MAILTO=|program is not a list of mail addresses"),
        ('MAILTO=""', "cron discards the output of the lines below"),
        ("MAILFROM=cron@example.com", "MAILFROM=cron@example.com applies"),
        ("CRON_TZ=Asia/Tokyo", "Debian's cron ignores it"),
        ("RANDOM_DELAY=5", "Debian's cron ignores it"),
        ("LOGNAME=bob", "cron sets LOGNAME itself"),
        ("SHELL=bash", "SHELL is not an absolute path"),
        ("HOME=here", "HOME is not an absolute path"),
        ("-0 5 * * * a", "cron does not log the runs"),
        ("@Daily a", "in lower case only"),
        ("0~9 5 * * * a", "cronie selects the random time once"),
        ("0 5 * * * a\r", "ends with a carriage return"),
    ],
)
def test_what_differs_is_noted(line, part):
    row = row_of(line)
    assert any(part in note for note in row.notes)
    text = write_krontab(rows_of(f"{line}\n", "alice"), BERLIN)
    assert all(f"# note: {note}\n" in text for note in row.notes)


def test_mail_is_a_key_and_no_variable():
    (job,) = jobs_of("MAILTO=a@example.com, root\nMAILFROM=b@example.com\n0 5 * * * a\n", "alice")
    assert (job.command.env, job.command.notify) == ((), (("mail:a@example.com,root", "output"),))


@pytest.mark.parametrize("value", ['""', "|program", "-oQ/tmp"])
def test_mail_ends_where_the_variable_has_no_address(value):
    first, second = jobs_of(f"MAILTO=root\n0 5 * * * a\nMAILTO={value}\n0 5 * * * b\n", "alice")
    assert (first.command.notify, second.command.notify) == ((("mail:root", "output"),), ())


def test_zone_of_cronie_applies_until_it_is_unset():
    zones = [job.schedule.zone.name for job in jobs_of("CRON_TZ=Asia/Tokyo\n@daily a\nCRON_TZ=\n@daily b\n", "alice")]
    assert zones == ["Asia/Tokyo", BERLIN]


def test_random_delay_is_a_window():
    delayed, exact = jobs_of("RANDOM_DELAY=45\n0 5 * * * a\nRANDOM_DELAY=0\n0 5 * * * b\n", "alice")
    assert (str(delayed.schedule.window.mode), delayed.schedule.window.duration) == ("after", 45 * MINUTE)
    assert exact.schedule.window.duration == 0


def test_random_delay_and_random_time_add_up():
    (job,) = jobs_of("RANDOM_DELAY=45\n0~30 5 * * * a\n", "alice")
    assert job.schedule.window.duration == 75 * MINUTE


def test_random_delay_is_at_most_a_day():
    (job,) = jobs_of("RANDOM_DELAY=1440\n0 5 * * * a\n", "alice")
    assert job.schedule.window.duration == 24 * 60 * MINUTE
    assert error_of("RANDOM_DELAY=1441\n") == ("BAD_VALUE", 1, "1441", "write a number such as 45")


@pytest.mark.parametrize(
    ("fields", "first", "minutes"),
    [
        ("0~30 5 * * *", "0 5 * * *", 30),
        ("~ 5 * * *", "0 5 * * *", 59),
        ("10~ 5 * * *", "10 5 * * *", 49),
        ("0 2~4 * * *", "0 2 * * *", 120),
        ("5~10 2~4 * * 1", "5 2 * * 1", 125),
    ],
)
def test_random_time_is_a_window(fields, first, minutes):
    schedule = job_of(f"{fields} x").schedule
    assert (str(schedule.window.mode), schedule.window.duration) == ("after", minutes * MINUTE)
    assert schedule.cron == parse(first, dialect="vixie").cron


@pytest.mark.parametrize("macro", ["@daily", "@Daily", "@DAILY", "@midnight"])
def test_macro_is_read_in_any_case(macro):
    assert job_of(f"{macro} x").schedule == job_of("0 0 * * * x").schedule


@pytest.mark.parametrize("macro", ["@reboot", "@Reboot"])
def test_reboot_is_a_job_of_the_boot(macro):
    row = row_of(f"{macro} x")
    assert (row.status, row.error, row.job.command.line) == (Status.REBOOT, None, "x")
    assert is_boot(row.job.schedule)
    text = write_krontab([row], BERLIN)
    assert f"\n@reboot name={row.job.name} command=x user=alice cwd=/home/alice\n" in text
    assert "proposal: @reboot" not in text


def test_star_in_one_day_field_makes_both_count():
    assert schedule_text(job_of("0 0 */2 * MON x", timezone="UTC").schedule) == (
        "plus: 0 0 */2 * MON @policy(concurrency=allow,deadline=1m) @days(match=both)"
    )


def test_runs_overlap_and_are_never_late_as_with_cron():
    assert job_of("0 5 * * * x").schedule.policy == replace(KRON, overlap=Overlap.ALLOW, deadline=MINUTE)


def test_proposal_prevents_overlap_and_spreads_the_load():
    row = row_of("0 5 * * * x", timezone="UTC")
    text = "0 5 * * * @win(around,2h) @policy(deadline=10m)"
    assert schedule_text(proposal(row.job)) == text
    assert f"# proposal: {text}\n0 5 * * * @policy" in write_krontab([row], "UTC")


def test_last_line_without_a_line_feed_is_a_comment():
    rows = rows_of("0 5 * * * a\n0 6 * * * b", "alice")
    assert [row.status for row in rows] == [Status.IMPORTED, Status.NOTED]
    assert "cron ignores this line" in rows[1].notes[0]
    assert "# line 2: 0 6 * * * b\n" in write_krontab(rows, BERLIN)


def test_comments_stay_in_their_order():
    text = write_krontab(rows_of("# one\n0 5 * * * a\n  # two\n", "alice"), BERLIN)
    assert text.index("\n# one\n") < text.index("name=alice-a-") < text.index("\n# two\n")


# Clock changes


@pytest.mark.parametrize(
    ("schedule", "timezone", "notes"),
    [
        ("30 3 * * *", BERLIN, []),
        ("*/30 2 * * *", BERLIN, []),
        ("30 2 * * 1", BERLIN, []),
        ("30 2 * * *", "UTC", []),
        (
            "30 2 * * *",
            BERLIN,
            [
                "2026-03-29 02:30 does not exist in Europe/Berlin. cron runs the job at 03:00. Kron does the same.",
                "2026-10-25 02:30 occurs twice in Europe/Berlin. cron runs the job the first time only. "
                "Kron does the same.",
            ],
        ),
        (
            "0 2,3 * 3 *",
            BERLIN,
            [
                "2026-03-29 02:00 does not exist in Europe/Berlin. cron runs the job 2 times after the change. "
                "Kron runs it once, at 03:00."
            ],
        ),
    ],
)
def test_fixed_times_at_a_clock_change_have_a_note(schedule, timezone, notes):
    assert list(row_of(f"{schedule} x", timezone=timezone).notes) == notes


# Names


def test_name_says_user_and_program_and_survives_moving_lines():
    text = "0 5 * * * cd / && X=1 /usr/bin/backup --all\n0 6 * * * other\n"
    first = {job.command.line: job.name for job in jobs_of(text, "alice")}
    moved = {
        job.command.line: job.name for job in jobs_of("# x\nA=1\n" + "\n".join(text.split("\n")[1::-1]) + "\n", "alice")
    }
    assert moved == first
    assert re.fullmatch("alice-backup-[0-9a-f]{8}", first["cd / && X=1 /usr/bin/backup --all"])
    assert base_name("bob", "other") != base_name("alice", "other")


def test_duplicates_are_numbered_by_their_schedules():
    lines = ["0 20 * * * x", "0 8 * * * x", "0 14 * * * x"]
    names = [
        {schedule_text(job.schedule): job.name for job in jobs_of("\n".join(order) + "\n", "alice")}
        for order in (lines, lines[::-1])
    ]
    assert names[0] == names[1]
    assert sorted(name[16:] for name in names[0].values()) == ["", "-2", "-3"]


@pytest.mark.parametrize("command", ["%", "&&", "'", "ü", "a" * 300, "/", "( )", "if [ x ]; then y; fi"])
def test_any_command_has_a_valid_name(command):
    table = read_table(f"* * * * * name={base_name('_w$', command)} command=x", "/krontab")
    assert table.errors == ()


# Variables, and what is no line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=b", ("A", "b")),
        (" A = b c  ", ("A", "b c")),
        ('A="b c "', ("A", "b c ")),
        ("'A'='b'", ("A", "b")),
        ("A=", ("A", "")),
        ("A=b # c", ("A", "b # c")),
        ("A=$HOME/x", ("A", "$HOME/x")),
        ('A="b', None),
        ('A= "b', None),
        ("A='b' c", None),
        ("A b=c", None),
        ("0 5 * * * x=y", None),
    ],
)
def test_variable_is_read_as_cron_reads_it(text, expected):
    variable = read_variable(text)
    assert (variable and variable[:2]) == expected


@pytest.mark.parametrize(
    ("line", "code", "part", "hint"),
    [
        ("5/15 * * * * x", "STEP_NEEDS_RANGE", "5/15", "write 5-59/15"),
        ("  0 24 * * * x", "OUT_OF_RANGE", "24", "use a value from 0 to 23"),
        ("0~9 24 * * * x", "OUT_OF_RANGE", "24", "use a value from 0 to 23"),
        ("0~70 5 * * * x", "OUT_OF_RANGE", "0~70", "use a value from 0 to 59"),
        ("9~3 5 * * * x", "REVERSED_RANGE", "9~3", "write 3~9"),
        ("0 0 1~9 * * x", "UNSUPPORTED_SYNTAX", "~", "write a fixed time, and spread the runs with @win"),
        ("0 0 30 2 * x", "NEVER", "0 0 30 2 *", "choose a day that one of the months has"),
        ("@dayly x", "MACRO", "@dayly", "did you mean '@daily'?"),
        ("@daily", "NOT_A_CRONTAB", "", "add the command"),
        ("0 5 * *", "NOT_A_CRONTAB", "0 5 * *", "write five fields and a command"),
        ("A-B=c", "BAD_VALUE", "A-B=", "use letters, digits and _ in the name"),
        ("CRON_TZ=Europe/Berlim", "UNKNOWN_ZONE", "Europe/Berlim", "did you mean 'Europe/Berlin'?"),
        ("RANDOM_DELAY=soon", "BAD_VALUE", "soon", "write a number such as 45"),
    ],
)
def test_line_that_cannot_be_imported_has_a_place_and_a_hint(line, code, part, hint):
    assert error_of(f"# first\n{line}\n") == (code, 2, part, hint)
    assert "# not imported: " in write_krontab(rows_of(f"{line}\n", "alice"), BERLIN)


@pytest.mark.parametrize(
    ("line", "part", "hint"),
    [
        ("0 5 * * * /usr/bin/x y", "/usr/bin/x", "read a crontab without a user column with --user NAME"),
        ("0 5 * * *", "", "add the user and the command"),
        ("0 5 * * * bob", "", "add the command"),
    ],
)
def test_line_without_a_user_column_is_refused(line, part, hint):
    assert error_of(f"{line}\n", user=None) == ("NOT_A_CRONTAB", 1, part, hint)


def test_line_that_is_too_long_for_a_krontab_is_refused():
    code, _, _, _ = error_of(f"0 5 * * * {'x' * 65_536}\n")
    assert code == "TOO_LONG"


def test_reading_ends_after_a_hundred_errors():
    with pytest.raises(LanguageError) as caught:
        rows_of("x\n" * 101, "alice")
    assert (caught.value.code, caught.value.place.line) == ("TOO_MANY_ERRORS", 101)


if __name__ == "__main__" and "--write" in sys.argv:
    GOLDEN.write_text(write_krontab(convert([Crontab(LINES, "crontab")], host()), BERLIN), encoding="utf-8")
