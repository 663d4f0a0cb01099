"""Templates: Jinja2 with escaping on, and nothing undefined."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kron.apps.dashboard.outcome_look import Look
from kron.apps.dashboard.sentence import sentence
from kron.apps.dashboard.time_text import Form, duration_text, span_text

NAMES, NOTES = 200, 500  # characters of a name and of a note that a page shows


@cache
def environment() -> Environment:
    """Return the environment of all templates."""
    templates = Environment(
        loader=PackageLoader("kron.apps.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {"icon": icon, "outcome": outcome, "Form": Form}
    templates.filters |= {"duration": duration_text, "span": span_text, "count": count_text}
    templates.filters |= {"short": short, "sentence": sentence}
    return templates


def icon(symbol: str) -> Markup:
    """Return an icon. Words stand next to it, so that it is hidden from screen readers."""
    return Markup('<svg class="i" aria-hidden="true"><use href="#{}"/></svg>').format(symbol)


def outcome(look: Look) -> Markup:
    """Return the icon and the word of an outcome, in its colour."""
    return Markup('<span class="o {}">{}{}</span>').format(look.tone, icon(look.icon), look.word)


def count_text(number: int) -> str:
    """Return a number with separators."""
    return f"{number:,d}"


def short(text: str, length: int = NOTES) -> str:
    """Return the beginning of a text that people or targets wrote."""
    return text if len(text) <= length else text[: length - 1] + "…"
