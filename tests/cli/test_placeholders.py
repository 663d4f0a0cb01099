"""Placeholders of the fuzzy document on the command line: resolved for an identity."""

from kron.language.sentences.placeholder import read_placeholder
from kron.language.sentences.scatter import resolve

TEXT = "FUZZY:DAILY * * *"


def test_next_resolves_a_placeholder(kron):
    minute, hour = resolve(read_placeholder(TEXT), "o/r/w.md").cron.split()[:2]
    answer = kron("next", TEXT, "--identity", "o/r/w.md", "-n", "1", "--at", "2026-01-01T00:00:00Z")
    assert f" {int(hour):02d}:{int(minute):02d}:00 " in answer.out


def test_translate_shows_its_cron_line(kron):
    answer = kron("translate", TEXT, "--identity", "o/r/w.md")
    assert resolve(read_placeholder(TEXT), "o/r/w.md").cron in answer.out


def test_compile_prints_what_translate_prints(kron):
    words = (TEXT, "--identity", "o/r/w.md", "-o", "json")
    assert kron("compile", *words).out == kron("translate", *words).out
    assert kron("compile", TEXT, "a.yml", "--identity", "a").status == 2


def test_it_needs_an_identity(kron):
    for command in ("next", "translate", "compile"):
        answer = kron(command, TEXT)
        assert answer.status
        assert "needs the identity of the job" in answer.err
        assert "add --identity NAME" in answer.err


def test_mistake_in_a_placeholder_is_explained(kron):
    for command in ("next", "translate", "compile"):
        answer = kron(command, "FUZZY:DAYLY * * *", "--identity", "a")
        assert answer.status == 1
        assert "UNKNOWN_PLACEHOLDER" in answer.err
