"""Quotes and escapes: whatever goes in comes out."""

import ast
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kron as package
from kron.language import parse
from kron.language.canonical import unparse
from kron.language.fault import Fault
from kron.language.quoting import body_end, quote, remove_quotes, spans, split, unquote
from kron.timing.schedule import Schedule
from kron.timing.schedule.sampling import Seed
from tests.language.asking import kron
from tests.language.texts import WRITABLE

NASTY = st.text(st.sampled_from("\"\\ \t\n,;=()@'x\u00a0é")) | st.text(WRITABLE)
MIDNIGHT = kron("0 0 * * *")


def code(call, *args):
    with pytest.raises(Fault) as caught:
        list(call(*args))
    return caught.value.code


@settings(max_examples=500)
@example('"')
@example("\\")
@example('\\"')
@example("")
@given(NASTY)
def test_a_quoted_text_is_the_text(text):
    assert unquote(quote(text)) == text


@settings(max_examples=500)
@given(NASTY)
def test_any_salt_survives_the_way_there_and_back(salt):
    schedule = Schedule(MIDNIGHT.cron, seed=Seed(salt=salt))
    assert parse(unparse(schedule), dialect="kron").seed.salt == salt


@settings(max_examples=300)
@given(NASTY)
def test_a_text_escaped_character_by_character_is_the_text(text):
    assert unquote("".join("\\" + char for char in text)) == text


@settings(max_examples=300)
@given(st.lists(NASTY, min_size=1))
def test_quoted_texts_are_split_where_they_were_joined(parts):
    joined = ",".join(map(quote, parts))
    assert [unquote(part.text) for part in split(joined)] == parts
    assert [joined[part.start : part.end] for part in split(joined)] == list(map(quote, parts))


@settings(max_examples=300)
@given(st.lists(NASTY, min_size=1), st.text(" \t", min_size=1))
def test_and_so_are_words(parts, gap):
    joined = gap.join(map(quote, parts))
    assert [unquote(joined[start:end]) for start, end in spans(joined)] == parts


@settings(max_examples=300)
@given(NASTY, st.text())
def test_a_body_ends_at_the_first_parenthesis_that_is_not_sheltered(text, rest):
    body = f"x={quote(text)},y"
    assert body_end(f"({body}){rest}", 1) == len(body) + 1


@settings(max_examples=300)
@given(NASTY)
def test_a_bare_text_remembers_where_its_characters_stood(text):
    written = quote(text)
    plain, places = remove_quotes(written)
    assert plain == text
    assert "".join(written[place] for place in places[:-1]) == text
    assert places[-1] == len(written)


def test_what_is_safe_needs_no_quotes():
    assert quote("team-a/b.c:1@2%3+4_5") == "team-a/b.c:1@2%3+4_5"
    assert quote("a b") == '"a b"'
    assert quote('say "hi" \\') == r'"say \"hi\" \\"'
    assert quote("größe") == '"größe"'
    assert quote("") == '""'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a', "UNCLOSED_QUOTE"),
        ('"', "UNCLOSED_QUOTE"),
        (r'"a\"', "UNCLOSED_QUOTE"),
        ('a"', "STRAY_QUOTE"),
        ('a"b"', "STRAY_QUOTE"),
        ('"a"b', "STRAY_QUOTE"),
        ('""a', "STRAY_QUOTE"),
        (r'"a"\b', "STRAY_QUOTE"),
        ("a\\", "STRAY_ESCAPE"),
    ],
)
def test_a_value_that_is_half_quoted_is_refused(text, expected):
    assert code(unquote, text) == expected


def test_a_list_that_is_half_quoted_is_refused():
    assert code(split, 'a,"b') == "UNCLOSED_QUOTE"
    assert code(split, "a,b\\") == "STRAY_ESCAPE"
    assert code(remove_quotes, '"b') == "UNCLOSED_QUOTE"


def test_no_pattern_of_the_source_repeats_a_group_possessively():
    """Python before 3.11.5, such as that of Debian 12, matches `(?:...)*+` wrongly."""
    source = Path(package.__file__).parent
    possessive, charset = re.compile(r"\)[*+?]\+|\)\{[0-9,]+\}\+|\(\?>"), re.compile(r"\[[^]]*\]")
    found = [
        f"{path.relative_to(source)}:{node.lineno}"
        for path in sorted(source.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        if possessive.search(charset.sub("x", str(node.value)))
    ]
    assert found == []
