"""Words for descriptions of schedules in English: names of days and months, ranges and lists."""

from __future__ import annotations

from collections.abc import Sequence

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_ORDINAL_ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
ORDINALS = tuple(f"{day}{_ORDINAL_ENDINGS.get(day, 'th')}" for day in range(1, 32))


def write_weekdays(days: list[int], word: str, last: str) -> str:
    """Return weekdays in words: `every Monday and Friday`, or a range: `from Monday to Friday`."""
    names = join_names(days, DAYS, last, cycle=7)
    return f"from {names}" if len(spans_of(days, 7)) == 1 and len(days) > 2 else f"{word} {names}"


def in_months(months: str) -> str:
    """Return the months after `from` or `in`."""
    is_one_range = " to " in months and " and " not in months and " or " not in months
    return f"from {months}" if is_one_range else f"in {months}"


def bits_of(bits: int) -> list[int]:
    """Return the numbers of a bit set, in order."""
    return [i for i in range(bits.bit_length()) if bits >> i & 1]


def step_of(values: list[int], size: int) -> int:
    """Return the step if the values are evenly spaced to the end; 0 if they are not.

    Minutes and hours are cyclic: their step must also fit between the last and the first value.
    """
    step = values[1] - values[0] if len(values) > 1 else 0
    if not step or values != list(range(values[0], values[-1] + 1, step)) or values[-1] + step < size:
        return 0
    return step if size == 31 or (values[-1] + step) % size == values[0] else 0


def spans_of(values: list[int], cycle: int = 0) -> list[tuple[int, int]]:
    """Return the ranges of consecutive values, as (first, last). In a cycle, the first value follows the last."""
    spans: list[tuple[int, int]] = []
    for value in values:
        if spans and spans[-1][1] == value - 1:
            spans[-1] = (spans[-1][0], value)
        else:
            spans.append((value, value))
    if cycle and len(spans) > 1 and spans[0][0] == 0 and spans[-1][1] == cycle - 1:
        spans = [*spans[1:-1], (spans[-1][0], spans[0][1] + cycle)]
    return spans


def write_numbers(name: str, values: list[int]) -> str:
    """Return numbers in words, such as `minutes 5 and 35`."""
    return f"{name}{'s' if len(values) > 1 else ''} {join_words(number_texts(values))}"


def number_texts(values: list[int]) -> list[str]:
    """Return numbers as texts, with ranges."""
    return _range_texts(values, [str(value) for value in range(60)])


def join_names(values: list[int], names: Sequence[str], last: str = "and", cycle: int = 0) -> str:
    """Return the names of values as a list in words, with ranges."""
    return join_words(_range_texts(values, names, cycle), last)


def _range_texts(values: list[int], names: Sequence[str], cycle: int = 0) -> list[str]:
    texts: list[str] = []
    for first, last in spans_of(values, cycle):
        range_names = [names[value % len(names)] for value in range(first, last + 1)]
        texts += range_names if len(range_names) < 3 else [f"{range_names[0]} to {range_names[-1]}"]
    return texts


def join_words(words: Sequence[str], last: str = "and") -> str:
    """Return a list in words, such as `a, b and c`."""
    leading = ", ".join(words[:-1])
    return f" {last} ".join([leading, *words[-1:]] if leading else words)
