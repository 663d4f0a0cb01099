"""Hints of the decorators: the decorator or the dialect that a hint names accepts the text."""

import re

import pytest

from kron import Scheduler
from kron.errors import LanguageError


def hint_of(decorate, text):
    with pytest.raises(LanguageError) as caught:
        decorate(text)(lambda: None)
    return caught.value.hint


@pytest.mark.parametrize(
    ("text", "dialect"),
    [("0 9 * * * @dst(once)", "plus"), ("0 0 9 * * ?", "quartz"), ("0 0 9 * * MON", "service")],
)
def test_the_dialect_that_a_hint_names_accepts_the_text(text, dialect):
    s = Scheduler()
    assert f'dialect="{dialect}"' in hint_of(s.job, text).partition("\n")[0]
    s.job(text, dialect=dialect, name="a")(lambda: None)


def test_a_line_with_modifiers_is_for_the_kron_decorator():
    s, text = Scheduler(), "0 9 * * * @tz(Europe/Paris)"
    assert hint_of(s.job, text).startswith("for a cron line with modifiers, use @s.kron(...)")
    s.kron(text, name="a")(lambda: None)


def test_the_cron_decorator_names_the_one_that_takes_a_dialect():
    s, text = Scheduler(), "0 9 L * *"
    named = re.search(r'use @s\.job\(\.\.\., dialect="(\w+)"\)', hint_of(s.cron, text))
    s.job(text, dialect=named[1], name="a")(lambda: None)
