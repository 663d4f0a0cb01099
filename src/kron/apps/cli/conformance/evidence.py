"""Evidence for the tests of the fuzzy document: pairs of the actual value and the required value."""

from __future__ import annotations

from collections.abc import Iterator

from kron.apps.cli.conformance import Pairs
from kron.language.fault import Fault
from kron.language.sentences import github, grammar
from kron.language.sentences.clocktime import ClockTime, read_time
from kron.language.sentences.placeholder import Stretch
from kron.language.sentences.pool import POOL
from kron.language.sentences.scatter import fnv1a, scatter, seed_of
from kron.language.tokens import tokens

IDENTIFIERS = tuple(f"octo-org/repo-{n % 97}/.github/workflows/job-{n}.md" for n in range(120))
WINDOW_SENTENCES = (
    "daily around 14:00",
    "daily between 9:00 and 17:00",
    "daily between 22:00 and 02:00",
    "weekly on friday around 17:00",
    "weekly on monday between 6:00 and 10:00",
)
SCATTERED_SENTENCES = (
    "daily",
    "weekly",
    "weekly on monday",
    "hourly",
    "every 2h",
    "bi-weekly",
    "tri-weekly",
    *WINDOW_SENTENCES,
)
INTERVAL_SENTENCES = ("every 5 minutes", "every 2h", "every 2 days", "every 2 weeks", "bi-weekly", "tri-weekly")
KNOWN_HASHES = ((b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"github/gh-aw/workflow.md", 206228416))


def says(*pairs: tuple[str, str]) -> Pairs:
    """Check that each text compiles to its placeholder."""
    return [(grammar.read(text).placeholder, placeholder) for text, placeholder in pairs]


def refuses(code: str, *texts: str) -> Pairs:
    """Check that each text is rejected with the code."""
    for text in texts:
        try:
            yield f"{text} -> {grammar.read(text).placeholder}", f"rejected with {code}"
        except Fault as fault:
            yield fault.code, code


def time_of(text: str) -> ClockTime:
    """Return the time of a text."""
    return read_time(tokens(text), text).clock


def offset_of(text: str) -> int | None:
    """Return the UTC offset of a text, in minutes."""
    return read_time(tokens(f"0:00 {text}"), text).offset


def crons(*texts: str) -> Iterator[list[str]]:
    """Yield the cron fields of each text, for every identifier."""
    for sentence in map(grammar.read, texts):
        yield from (scatter(sentence, identifier).cron.split() for identifier in IDENTIFIERS)


def minutes_in(low: int, high: int, *texts: str) -> Pairs:
    """Check that the minute is in the range."""
    return ((low <= int(fields[0]) <= high, True) for fields in crons(*texts))


def stays(text: str, stretch: Stretch) -> Pairs:
    """Check that the scattered time is in the window, both ends included. The window can cross midnight."""
    for fields in crons(text):
        minute = int(fields[1]) * 60 + int(fields[0])
        yield (minute - stretch.first) % 1_440 <= stretch.last - stretch.first, True


def avoids(hours: range, minutes: range) -> Pairs:
    """Check that no `around` schedule in these hours gets one of these minutes."""
    for hour in range(24):
        for fields in crons(f"daily around {hour}:20", f"daily around {hour}:45"):
            yield int(fields[1]) in hours and int(fields[0]) in minutes, False


def pooled(*texts: str) -> Pairs:
    """Check that the time is a slot of the pool."""
    slots = set(POOL)
    return (((int(fields[1]), int(fields[0])) in slots, True) for fields in crons(*texts))


def field_in(field: int, low: int, high: int) -> Pairs:
    """Check that a field of every line is `*`, `*/N` or a number of its range."""
    for fields in crons(*SCATTERED_SENTENCES, *INTERVAL_SENTENCES):
        text = fields[field].removeprefix("*/")
        yield text == "*" or low <= int(text) <= high, True


def steps() -> Pairs:
    """Check that every interval is one step over a whole field, and that the line is valid."""
    for fields in crons(*INTERVAL_SENTENCES):
        github.read(" ".join(fields))
        yield [field[:2] for field in fields if "/" in field], ["*/"]


def same_hashes() -> Pairs:
    """Compare the hash with known values, twice."""
    return [(fnv1a(data), value) for data, value in (*KNOWN_HASHES, *KNOWN_HASHES)]


def different_hashes() -> Pairs:
    """Check that there are as many seeds as identifiers."""
    return [(len({seed_of(identifier) for identifier in IDENTIFIERS}), len(IDENTIFIERS))]
