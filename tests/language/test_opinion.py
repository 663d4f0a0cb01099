"""Second opinion: each door names its own way to follow the hint, and the way works."""

import json
import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.apps.cli import main
from kron.apps.service.config import Config
from kron.apps.service.schemas.definition import job_of
from kron.apps.service.schemas.requests import Definition
from kron.errors import KronError, LanguageError
from kron.language import opinion, parse
from kron.language.dialect import DIALECTS
from kron.language.krontab import read_table
from kron.language.manifest import define
from tests.language import newcomers
from tests.language.cpu_time import least_seconds

TEXTS = [block.text for block in newcomers.blocks()]
HOOK = {"target": "https://example.com/hook"}


def hints(error):
    """The lines of a hint that say what to write, or how another dialect reads the text."""
    lines = error.hint.split("\n")[1:]
    return [line for line in lines if re.match(r"write |read as \w+ this is ", line)]


def refused(call, *args, **options):
    try:
        call(*args, **options)
    except LanguageError as error:
        return error
    except KronError:
        return None
    return None


def parts(hint, text):
    """The text to write, and the actions after it."""
    wrote = re.match(r"write (.+?)(?:; (?=pass|add|set|begin)(.*))?$", hint)
    if wrote:
        return wrote[1], wrote[2] or ""
    return text, re.match(r'read as \w+ this is ".*?"; (.*?)(?:; read as .*)?$', hint)[1]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", TEXTS)
def test_python_hint_works(text, dialect):
    error = refused(parse, text, dialect=dialect)
    for hint in hints(error) if error else ():
        new_text, actions = parts(hint, text)
        options = dict(re.findall(r'(\w+)="([^"]+)"', actions))
        parse(new_text, **{"dialect": dialect, **options})


@pytest.mark.parametrize("dialect", ["kron", "posix", "fuzzy"])
@pytest.mark.parametrize("text", TEXTS)
def test_command_line_hint_works(text, dialect, capsys):
    given_dialect = [] if dialect == "kron" else ["--dialect", dialect]
    if main(["fmt", text, *given_dialect]) == 0:
        return
    printed = re.findall("^  hint: (.*)$", capsys.readouterr().err, re.MULTILINE)[1:]
    for hint in (line for line in printed if re.match(r"write |read as \w+ this is ", line)):
        new_text, actions = parts(hint, text)
        words = shlex.split(re.sub(r"; |\badd |\band ", " ", actions))
        assert "--" not in new_text
        assert main(["fmt", new_text, *given_dialect, *words]) == 0, hint


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", TEXTS)
def test_http_hint_works(text, dialect):
    config = Config(webhook_secret="s" * 32)

    def job(**fields):
        job_of(Definition(**{"schedule": text, "dialect": dialect, **HOOK, **fields}), "o/r/w.md", config, 0)

    error = refused(job)
    for hint in hints(error) if error else ():
        new_text, actions = parts(hint, text)
        job(schedule=new_text, **dict(re.findall(r'"(\w+)" to "([^"]+)"', actions)))


@pytest.mark.parametrize("text", TEXTS)
def test_krontab_hint_works(text):
    table = read_table(f"{text} name=a command=b", "/etc/krontab")
    for error in table.errors:
        for hint in hints(error):
            new_text, actions = parts(hint, text)
            name = "".join(re.findall(r'begin the schedule with "(\w+: )"', actions))
            assert read_table(f"{name}{new_text} name=a command=b", "/etc/krontab").errors == (), hint


@pytest.mark.parametrize("text", TEXTS)
def test_load_hint_works(text):
    error = refused(define, {"identity": "a", "schedule": text})
    for hint in hints(error) if error else ():
        new_text, actions = parts(hint, text)
        name = "".join(re.findall(r'begin the schedule with "(\w+: )"', actions))
        zone = dict(re.findall(r'"(timezone)" to "([^"]+)"', actions))
        define({"identity": "a", "schedule": name + new_text, **zone})


def test_opinion_names_the_dialects_for_programs():
    error = refused(parse, "weekly on friday around 17:00", dialect="kron")
    assert error.details["read_by"] == ["fuzzy"]
    assert refused(parse, "*/5 * * * *", dialect="posix").details["read_by"] == [
        "kron",
        "service",
        "plus",
        "vixie",
        "jenkins",
    ]
    error = refused(parse, "0 9 * * 1-5 Europe/Paris", dialect="kron")
    assert error.details["write"] == {"text": "0 9 * * 1-5 @tz(Europe/Paris)", "dialect": "kron"}
    json.dumps(error.details)


def test_dialect_that_reads_a_text_that_never_runs_is_not_named():
    error = refused(parse, "0 0 30 2 *", dialect="kron")
    assert "read_by" not in error.details


def test_code_and_place_are_those_of_the_dialect():
    error = refused(parse, "0 9 * * 7", dialect="kron")
    assert (error.code, error.span) == ("OUT_OF_RANGE", (8, 9))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("part", ["9", "* ", "a ", "L,", "H ", "cron(", "Mon..", "１", "*-"])
def test_long_text_is_refused_within_100_ms(part, dialect):
    for length in (opinion.MAX_LENGTH, 65_536):
        text = (part * length)[:length]

        def read(text=text):
            opinion._opinion.cache_clear()
            assert refused(parse, text, dialect=dialect, identity="a")

        assert least_seconds(read, 0.1) < 0.1


def test_opinion_that_fails_does_not_hide_the_error(monkeypatch):
    def fail(*args):
        raise RuntimeError

    monkeypatch.setattr(opinion, "readings", fail)
    opinion._opinion.cache_clear()
    assert refused(parse, "0 9 * * 7", dialect="kron").hint == "write 0 for Sunday"


@given(st.text("0159*/,-?LWH#@()=:. monTZcraetvysd", max_size=40), st.sampled_from(DIALECTS))
def test_no_text_fails_in_another_way(text, dialect):
    error = refused(parse, text, dialect=dialect, identity="a")
    if error and "write" in error.details:
        assert newcomers.followed(text, dialect, error) != "-"
