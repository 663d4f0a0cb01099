"""What the tests of the fuzzy document compare: pairs of what was found and what the document asks for."""

from __future__ import annotations

from collections.abc import Iterator

from kron.language.conformance import Pairs
from kron.language.fault import Fault
from kron.language.sentences import fuzzy, github
from kron.language.sentences.clocktime import ClockTime, read_time
from kron.language.sentences.placeholder import Stretch
from kron.language.sentences.pool import POOL
from kron.language.sentences.scatter import fnv1a, scatter, seed_of
from kron.language.words import tokens

IDENTIFIERS = tuple(f"octo-org/repo-{n % 97}/.github/workflows/job-{n}.md" for n in range(120))
STRETCHES = (
    "daily around 14:00",
    "daily between 9:00 and 17:00",
    "daily between 22:00 and 02:00",
    "weekly on friday around 17:00",
    "weekly on monday between 6:00 and 10:00",
)
SCATTERED = ("daily", "weekly", "weekly on monday", "hourly", "every 2h", "bi-weekly", "tri-weekly", *STRETCHES)
INTERVALS = ("every 5 minutes", "every 2h", "every 2 days", "every 2 weeks", "bi-weekly", "tri-weekly")
KNOWN_HASHES = ((b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"github/gh-aw/workflow.md", 206228416))


def says(*pairs: tuple[str, str]) -> Pairs:
    """Each text has its placeholder."""
    return [(fuzzy.read(text).placeholder, placeholder) for text, placeholder in pairs]


def refuses(code: str, *texts: str) -> Pairs:
    """Each text is refused with the code."""
    for text in texts:
        try:
            yield f"{text} -> {fuzzy.read(text).placeholder}", f"refused with {code}"
        except Fault as fault:
            yield fault.code, code


def time_of(text: str) -> ClockTime:
    """The time that a text says."""
    return read_time(tokens(text), text).clock


def offset_of(text: str) -> int | None:
    """The offset that a text says, in minutes."""
    return read_time(tokens(f"0:00 {text}"), text).offset


def crons(*texts: str) -> Iterator[list[str]]:
    """The fields of each text, for every identifier."""
    for sentence in map(fuzzy.read, texts):
        yield from (scatter(sentence, identifier).cron.split() for identifier in IDENTIFIERS)


def minutes_in(low: int, high: int, *texts: str) -> Pairs:
    """The minute lies in the range."""
    return ((low <= int(fields[0]) <= high, True) for fields in crons(*texts))


def stays(text: str, stretch: Stretch) -> Pairs:
    """The scattered time lies in the closed stretch, which may run across midnight."""
    for fields in crons(text):
        minute = int(fields[1]) * 60 + int(fields[0])
        yield (minute - stretch.first) % 1_440 <= stretch.last - stretch.first, True


def avoids(hours: range, minutes: range) -> Pairs:
    """No `around` that lands in those hours lands in those minutes."""
    for hour in range(24):
        for fields in crons(f"daily around {hour}:20", f"daily around {hour}:45"):
            yield int(fields[1]) in hours and int(fields[0]) in minutes, False


def pooled(*texts: str) -> Pairs:
    """The time is a slot of the pool."""
    slots = set(POOL)
    return (((int(fields[1]), int(fields[0])) in slots, True) for fields in crons(*texts))


def field_in(field: int, low: int, high: int) -> Pairs:
    """A field of every line is `*`, `*/N` or a number of its range."""
    for fields in crons(*SCATTERED, *INTERVALS):
        text = fields[field].removeprefix("*/")
        yield text == "*" or low <= int(text) <= high, True


def steps() -> Pairs:
    """Every interval is one step over all of a field, and the whole line is valid."""
    for fields in crons(*INTERVALS):
        github.read(" ".join(fields))
        yield [field[:2] for field in fields if "/" in field], ["*/"]


def same_hashes() -> Pairs:
    """Known answers, twice over."""
    return [(fnv1a(data), value) for data, value in (*KNOWN_HASHES, *KNOWN_HASHES)]


def different_hashes() -> Pairs:
    """As many seeds as identifiers."""
    return [(len({seed_of(identifier) for identifier in IDENTIFIERS}), len(IDENTIFIERS))]
