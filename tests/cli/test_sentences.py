"""`kron translate`, `kron spread`, `kron conformance`, and sentences in the older commands."""

import json
from argparse import Namespace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

from kron import decide, parse, periods
from kron.apps.cli.commands import spread as spread_command
from kron.apps.cli.crontab_sources import has_user_column
from kron.errors import KronError
from kron.language.crontabs.read import Crontab, read_crontab
from kron.language.density import Piece, load, spread
from kron.language.sentences.placeholder import Daily, Fortnightly, Hourly, Weekly
from kron.language.sentences.read import read_sentence
from kron.language.sentences.replacement import sentence_for
from kron.language.sentences.translate import kron_line
from kron.timing.zone import UTC_ZONE

AT = "2026-03-01T00:00:00Z"
SENTENCES = (
    "daily",
    "daily on weekdays",
    "daily around 14:00",
    "daily around 1am utc+9 on weekdays",
    "daily between 22:00 and 2:00",
    "hourly",
    "every 1h",
    "every 2h on weekdays",
    "weekly",
    "weekly on monday",
    "weekly on monday around 0:30",
    "weekly on friday between 9:00 and 17:00",
    "bi-weekly",
    "tri-weekly",
    "every 5 minutes",
    "every 2 days",
    "every 1 week",
)


@pytest.mark.req("FUZZY-10.4-REPORT", "FUZZY-10.4-LEVEL")
def test_the_conformance_report(kron):
    result = kron("conformance", "fuzzy")
    assert result.status == 0
    assert result.out.splitlines()[-1] == "62 of 62 tests pass; conformance level 3"
    assert result.out.count("  pass  ") == 62
    found = json.loads(kron("conformance", "fuzzy", "--output", "json").out)
    assert (found["passed"], found["total"], found["level"], len(found["tests"])) == (62, 62, 3, 62)


def possible(plan, at):
    """Whether a sentence could be scattered to that instant's minute of the day, peaks aside."""
    minute = at // 60 % 1440
    match plan:
        case Daily(None) | Weekly(_, None) | Fortnightly():
            return minute // 60 in (2, 3, 4, 5, 10, 11, 12, 19, 20, 21, 22, 23)
        case Hourly(every):
            return minute // 60 % (every or 1) == 0 and 5 <= minute % 60 <= 54
        case Daily(stretch) | Weekly(_, stretch):
            return (minute - stretch.first) % 1440 <= stretch.last - stretch.first
    return True


@pytest.mark.parametrize("text", SENTENCES)
def test_the_window_of_a_kron_line_lies_where_its_sentence_may_be_scattered_to(text):
    plan = read_sentence(text).plan
    line = parse(kron_line(read_sentence(text)), dialect="kron")
    coming = list(islice(periods(line, datetime(2026, 3, 1, tzinfo=UTC)), 8))
    drawn = [decide(line, period, f"job-{n}").chosen for n in range(60) for period in coming]
    assert None not in drawn
    assert all(possible(plan, at) for at in drawn)
    if getattr(plan, "stretch", None):
        bounds = line.window.at(coming[0].nominal)
        assert (bounds.last - bounds.first) // 60 == plan.stretch.last - plan.stretch.first
        assert (bounds.first // 60 - plan.stretch.first) % 1440 == 0


def test_windows_of_translated_sentences_are_those_of_the_document():
    expected = {
        "daily around 14:00": "0 14 * * * @win(around,2h)",
        "daily between 22:00 and 2:00": "0 22 * * * @win(after,4h)",
        "weekly on monday around 0:30": "30 0 * * 1 @win(around,2h)",
        "daily around 1am utc+9 on weekdays": "0 16 * * 0-4 @win(around,2h)",
        "every 2h": "5 */2 * * * @win(after,49m)",
        "every 5 minutes": "*/5 * * * *",
        "daily": "0 2 * * * @win(after,21h59m) @only(hours=2-5,10-12,19-23)",
    }
    assert {text: kron_line(read_sentence(text)) for text in expected} == expected


REPLACEMENTS = {
    "0 9 * * *": "daily around 9:00",
    "0 0 * * *": "daily around midnight",
    "30 17 * * MON-FRI": "daily around 17:30 on weekdays",
    "0 9 * * 1,2,3,4,5": "daily around 9:00 on weekdays",
    "5 4 * * SUN": "weekly on sunday around 4:05",
    "0 * * * *": "hourly",
    "15 * * * 1-5": "hourly on weekdays",
    "0 */6 * * *": "every 6h",
    "0 0,12 * * *": "every 12h",
    "*/10 * * * *": "every 10 minutes",
    "0 0 */2 * *": "every 2 days",
    "17 3 */14 * *": "bi-weekly",
    "17 3 */21 * *": "tri-weekly",
    "0 9 1 * *": "",
    "0 9 * 1 *": "",
    "0 9 * * 1,3": "",
    "0 9,17 * * *": "",
    "0 9-17 * * *": "",
    "* * * * *": "",
    "*/7 * * * *": "every 7 minutes",
    "*/5 9 * * *": "",
    "0 0 1 * 1": "",
    "0 */5 * * *": "",
}


@pytest.mark.parametrize("line", REPLACEMENTS)
def test_a_cron_line_has_the_sentence_that_would_replace_it(line):
    sentence = sentence_for(line)
    assert sentence == REPLACEMENTS[line]
    if sentence:
        assert read_sentence(sentence)


def test_translate_goes_both_ways(kron):
    assert kron("translate", "daily around 14:00").out == (
        "sentence    daily around 14:00\n"
        "placeholder FUZZY:DAILY_AROUND:14:0 * * *\n"
        "kron        0 14 * * * @win(around,2h)\n"
        "in words    At 14:00 every day, UTC, at a second from 1 hour before to 1 hour after.\n"
    )
    found = json.loads(kron("translate", "0 9 * * MON-FRI", "--output", "json").out)
    assert found["sentence"] == "daily around 9:00 on weekdays"
    assert found["kron"] == "0 9 * * 1-5 @win(around,2h)"
    result = kron("translate", "0 9 1 * *")
    assert (result.status, result.out) == (1, "")
    assert "error[NO_SENTENCE]" in result.err
    assert "error[UNKNOWN_WEEKDAY]" in kron("translate", "weekly on mondey").err
    assert "error[OUT_OF_RANGE]" in kron("translate", "0 25 * * *").err


@pytest.mark.req("FUZZY-C.2-PREDICT")
def test_translate_tells_how_the_time_of_an_identity_was_found(kron):
    out = kron("translate", "daily", "--identity", "github/gh-aw/workflow.md").out
    assert "cron        17 23 * * *\n" in out
    assert "because     206228416 % 622 = 584, the slot 23:17\n" in out


def test_sentences_are_read_by_the_older_commands_too(kron):
    result = kron("next", "daily around 9am", "--dialect", "fuzzy", "--identity", "o/r/w.md", "--at", AT, "-n", "1")
    assert result.status == 0
    assert "error[EMPTY_IDENTIFIER]" in kron("next", "daily", "--dialect", "fuzzy").err
    linted = kron("lint", "bi-weekly", "--dialect", "fuzzy")
    assert linted.status == 0
    assert "warning[UNEVEN_CADENCE]" in linted.out
    assert "error[UNKNOWN_KEYWORD]" in kron("lint", "dayly", "--dialect", "fuzzy").out


CRONTAB = """\
# jobs
SHELL=/bin/bash
0 0 * * * root /bin/a
@daily /bin/b
@reboot /bin/c
30 2 * * 7 /bin/d
*/5 * * * * /bin/e
0 9 1 * * /bin/f
"""


def entries_of(text):
    """The lines of a crontab that run a command, and the errors of others."""
    lines = list(read_crontab(Crontab(text, "crontab", "alice"), UTC_ZONE))
    return [line for line in lines if line.entry], [line.row.error for line in lines if line.row.error]


def test_a_crontab_is_read():
    lines, errors = entries_of(CRONTAB)
    assert errors == []
    assert [(line.row.number, line.entry.entry.command) for line in lines] == [
        (3, "root /bin/a"),
        (4, "/bin/b"),
        (5, "/bin/c"),
        (6, "/bin/d"),
        (7, "/bin/e"),
        (8, "/bin/f"),
    ]
    assert lines[0].entry.timing.schedule == lines[1].entry.timing.schedule
    _, errors = entries_of("0 25 * * * x\n0 0\n@often x\n")
    assert [(error.code, error.place.label) for error in errors] == [
        ("OUT_OF_RANGE", "crontab:1:3"),
        ("NOT_A_CRONTAB", "crontab:2:1"),
        ("MACRO", "crontab:3:1"),
    ]


ZONES = """\
0 1 * * * /bin/utc
TZ=Europe/Paris
0 1 * * * /bin/variable
CRON_TZ = "Asia/Tokyo"
TZ=Europe/Berlin
0 1 * * * /bin/tokyo
CRON_TZ=
0 1 * * * /bin/unset
"CRON_TZ" = ':America/New_York'\r
0 1 * * * /bin/york
"""


def test_a_crontab_sets_the_zone_of_the_lines_that_follow():
    """TZ is a variable of the commands. No cron takes it as the zone of its schedules."""
    lines, errors = entries_of(ZONES)
    assert errors == []
    zones = {line.entry.entry.command: line.entry.timing.schedule.zone.name for line in lines}
    assert zones == {
        "/bin/utc": "UTC",
        "/bin/variable": "UTC",
        "/bin/tokyo": "Asia/Tokyo",
        "/bin/unset": "UTC",
        "/bin/york": "America/New_York",
    }
    assert dict(lines[-1].entry.variables.env) == {"TZ": "Europe/Berlin"}
    assert dict(lines[1].entry.variables.env) == {"TZ": "Europe/Paris"}


@pytest.mark.parametrize("line", ["CRON_TZ=Europe/Pariss", 'CRON_TZ="Europe/Pariss"', "CRON_TZ=:Europe/Pariss"])
def test_an_unknown_zone_of_a_crontab_is_a_fault_with_its_line(line):
    _, (error,) = entries_of(f"SHELL=/bin/sh\n{line}\n0 1 * * * x\n")
    assert (error.code, error.place.label.rpartition(":")[0]) == ("UNKNOWN_ZONE", "crontab:2")
    assert line[error.place.start : error.place.end] == "Europe/Pariss"
    assert "Europe/Paris" in error.hint


def test_spread_draws_a_crontab_in_its_zone(kron, tmp_path):
    path = tmp_path / "crontab"
    path.write_text("CRON_TZ=Asia/Tokyo\n0 9 * * * /bin/job\n")
    loads = json.loads(kron("spread", str(path), "--at", AT, "--output", "json").out)
    assert loads["before"]["peak_at"] == AT
    path.write_text("CRON_TZ=Asia/Tokio\n0 9 * * * /bin/job\n")
    result = kron("spread", str(path), "--at", AT)
    assert (result.status, result.out) == (1, "")
    assert f"{path}:1:9: error[UNKNOWN_ZONE]" in result.err


def spread_of(kron, path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    result = kron("spread", str(path), "--at", AT, "--output", "json")
    return json.loads(result.out) if result.status == 0 else result.err


def test_spread_reads_every_line_that_import_reads(kron, tmp_path):
    """One reader: macros in any case, `-`, `~` and RANDOM_DELAY, percent signs, and a last line without an end."""
    path = tmp_path / "crontab"
    assert spread_of(kron, path, "@Daily a\n-0 9 * * * b\n@reboot c\n0 9 * * * d %x")["schedules"] == 3
    random = spread_of(kron, path, "RANDOM_DELAY=45\n0 9 * * * a\n0~59 9 * * * b\n")
    assert (random["schedules"], random["spread"], random["before"]["runs"]) == (2, 0, 14)
    both = spread_of(kron, path, "0 0 */2 * MON a\n")
    assert both["before"]["runs"] == 0  # the only Monday of the week from March 1, 2026 is the 2nd


def test_spread_takes_a_line_that_never_runs_as_no_load(kron, tmp_path):
    load_of_lines = spread_of(kron, tmp_path / "crontab", "0 0 30 2 * a\n0 9 * * * b\n")
    assert (load_of_lines["schedules"], load_of_lines["before"]["runs"]) == (1, 7)


def test_spread_knows_the_files_with_a_user_column(kron, tmp_path):
    """The user is not part of the command, so that the same command is spread in the same way in both files."""
    assert "'/bin/job' is not a user" in spread_of(kron, tmp_path / "cron.d" / "jobs", "0 9 * * * /bin/job\n")
    assert has_user_column(Path("/etc/crontab"))
    assert not has_user_column(Path("/srv/crontab"))
    path = tmp_path / "cron.d" / "jobs"
    path.write_text("0 9 * * * root /bin/job\n")
    (piece,), errors = spread_command._pieces(path, Namespace(dialect=None))
    assert (piece.identity, errors) == (f"{path}:1:/bin/job", [])


def test_spread_draws_the_load_before_and_after(kron, tmp_path):
    path = tmp_path / "crontab"
    path.write_text("".join(f"0 0 * * * /bin/job{n}\n" for n in range(100)))
    for by in ("sentences", "windows"):
        found = json.loads(kron("spread", str(path), "--by", by, "--at", AT, "--output", "json").out)
        assert (found["schedules"], found["spread"]) == (100, 100)
        assert (found["before"]["peak"], found["before"]["peak_at"]) == (100, AT)
        assert found["before"]["runs"] == 700
        assert found["after"]["peak"] < 12
        assert sum(count > 0 for count in found["after"]["busiest_minute_by_hour"]) <= 3  # within the hour around
    out = kron("spread", str(path), "--at", AT).out
    assert out.splitlines()[0].split() == ["UTC", "currently", "by", "sentences"]
    assert len(out.splitlines()) == 1 + 24 + 1 + 2
    assert out.splitlines()[1].startswith("00:00  100 ██")
    assert "busiest minute: 100 (2026-03-01T00:00:00Z) currently" in out


def test_what_is_spread_already_or_has_no_sentence_stays(kron, tmp_path, krontab):
    table = krontab(
        "0 0 * * * @win(after,3h) name=a command=x\n"
        "0 9 * * * @tz(Europe/Paris) name=b command=x\n"
        "0 9 1 * * name=c command=x\n"
    )
    found = json.loads(kron("spread", str(table), "--at", AT, "--output", "json").out)
    assert (found["schedules"], found["spread"]) == (3, 0)  # sentences are in UTC
    found = json.loads(kron("spread", str(table), "--by", "windows", "--at", AT, "--output", "json").out)
    assert (found["schedules"], found["spread"]) == (3, 2)


def test_the_sentences_of_workflows_are_spread_as_they_say(kron, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yml").write_text('on:\n  schedule:\n    - cron: "0 0 * * *"  # kron: daily\n')
    found = json.loads(kron("spread", ".", "--at", AT, "--output", "json").out)
    assert found["spread"] == 1
    assert found["before"]["peak_at"] == AT
    assert found["after"]["peak_at"] != AT


def test_spread_refuses_what_it_cannot_read(kron, tmp_path):
    (tmp_path / "empty").write_text("# nothing\n")
    assert "error[NOT_FOUND]" in kron("spread", str(tmp_path / "empty")).err
    (tmp_path / "bad").write_text("0 99 * * * x\n")
    result = kron("spread", str(tmp_path / "bad"))
    assert (result.status, result.out) == (1, "")


def test_a_load_counts_every_run_once_whatever_its_window():
    schedule = parse("0 * * * * @win(around,3h)", dialect="kron")
    start = 1_772_323_200  # 2026-03-01
    whole = load([Piece(schedule, "a")], start, start + 2 * 86_400)
    halves = [load([Piece(schedule, "a")], start + n * 86_400, start + (n + 1) * 86_400) for n in range(2)]
    assert whole.total == sum(half.total for half in halves)
    assert whole.runs == halves[0].runs + halves[1].runs
    assert spread(Piece(schedule, "a"), "windows") == Piece(schedule, "a")


def test_a_load_of_nothing_is_nothing():
    assert load([], 0, 86_400).peak == (0, 0)
    with pytest.raises(KronError):
        read_sentence("0 0 * * *")
