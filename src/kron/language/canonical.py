"""Canonical texts of schedules. Equal schedules have equal texts, and parsing the text gives the schedule again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from kron.language.day_tokens import day_texts, weekday_texts
from kron.language.duration import write_duration
from kron.language.grammar import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, Kind
from kron.language.modifier_args import CONCURRENCY
from kron.language.plus_text import write_head, write_plus_modifiers
from kron.language.quoting import quote
from kron.timing.calendar import date_of
from kron.timing.schedule import Schedule
from kron.timing.schedule.constraint import Clauses
from kron.timing.schedule.cron import Cron, possible
from kron.timing.schedule.days import DayCron
from kron.timing.schedule.policy import KRON, Policy
from kron.timing.schedule.sampling import Exponential, Normal, Seed, SkewEarly, SkewLate
from kron.timing.schedule.terms import PLAIN
from kron.timing.schedule.window import Window

Pairs = dict[str, str]
_CONCURRENCY_NAMES = {overlap: name for name, overlap in CONCURRENCY.items()}


class Canonical(NamedTuple):
    """Canonical text of a schedule, and its dialect.

    The dialect is the first of `kron`, `service` and `plus` that can express the schedule. The service dialect has
    seconds, and lines that never run. It cannot name a time zone; the other two name it unless that is UTC.
    """

    text: str
    dialect: str


def canonical(schedule: Schedule) -> Canonical:
    """Return the canonical text of a schedule without its policy, and the dialect of the text."""
    return _canonical(schedule if schedule.policy == KRON else replace(schedule, policy=KRON))


def unparse(schedule: Schedule) -> str:
    """Return the canonical text of a schedule, with the fields of its policy that `@policy` can express.

    The text is in the dialect that `canonical` names. A text in the service dialect cannot name the time zone.
    """
    return _canonical(schedule).text


@lru_cache(4_096)  # defining a schedule calls this several times, and many schedules have the same text
def _canonical(schedule: Schedule) -> Canonical:
    head = schedule.cron
    modifiers = [*_write_modifiers(schedule), *write_plus_modifiers(schedule)]
    if not isinstance(head, Cron):
        return Canonical(" ".join([write_head(head), *modifiers]), "plus")
    is_simple = type(head) is Cron and schedule.terms == PLAIN
    if is_simple and (not possible(head) or (head.seconds != 1 and _has_only_setting(modifiers))):
        return Canonical(write_cron(head), "service")
    dialect = "kron" if is_simple and head.seconds == 1 else "plus"
    return Canonical(" ".join([write_cron(head), *modifiers]), dialect)


def _has_only_setting(modifiers: list[str]) -> bool:
    """Return whether all modifiers are settings that are stored next to a service text: time zone and policy."""
    return all(modifier.startswith(("@tz(", "@policy(")) for modifier in modifiers)


def to_posix(cron: Cron) -> str:
    """Return the cron fields in strict POSIX cron, without names and steps.

    Raises:
        ValueError: The fields select seconds, or days that the two day fields cannot select.
    """
    if cron.seconds != 1 or isinstance(cron, DayCron):
        raise ValueError("strict POSIX cron supports neither seconds nor days beyond its two day fields")
    return " ".join(",".join(write_ranges(*field)) or "*" for field in _field_values(cron))


@lru_cache(4_096)  # many schedules have the same fields
def write_cron(cron: Cron) -> str:
    """Return the canonical cron fields, with names for months and weekdays."""
    fields = [write_field(*field) for field in _field_values(cron)]
    if isinstance(cron, DayCron):
        fields[2] = _with_tokens(fields[2], cron.days, day_texts(cron.rule))
        fields[4] = _with_tokens(fields[4], cron.weekdays, weekday_texts(cron.rule))
    if cron.seconds != 1:
        fields.insert(0, "*" if cron.seconds == SECOND.all else write_field(cron.seconds, SECOND))
    return " ".join(fields)


def _with_tokens(field: str, bits: int, tokens: Iterable[str]) -> str:
    """Return a day field with its tokens. Without values of its own it has nothing but tokens."""
    texts = list(tokens)
    return ",".join([field, *texts] if bits else texts) if texts else field


def _field_values(cron: Cron) -> Iterator[tuple[int, Kind]]:
    """Yield the values and the kind of each field. The value 0 stands for the field `*`."""
    yield (0 if cron.minutes == MINUTE.all else cron.minutes), MINUTE
    yield (0 if cron.hours == HOUR.all else cron.hours), HOUR
    yield (0 if cron.any_day else cron.days), DAY
    yield (0 if cron.months == MONTH.all else cron.months), MONTH
    yield (0 if cron.any_weekday else cron.weekdays), WEEKDAY


def write_field(bits: int, kind: Kind) -> str:
    """Return the canonical text of a field; `*` for the value 0."""
    if not bits:
        return "*"
    values = _values(bits, kind)
    step = values[1] - values[0] if len(values) > 2 else 0
    if step > 1 and values == list(range(values[0], values[-1] + 1, step)):
        if values[0] == kind.low and values[-1] + step > kind.high:
            return f"*/{step}"
        return f"{values[0]}-{values[-1]}/{step}"
    return ",".join(write_ranges(bits, kind, kind.names))


def write_ranges(bits: int, kind: Kind, names: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the values of a bit set as ranges and single values, by name if `names` has them."""
    values = _values(bits, kind)
    while values:
        length = next((n for n in range(1, len(values)) if values[n] != values[0] + n), len(values))
        length = length if length > 2 else 1
        first, last = (names[value - kind.low] if names else str(value) for value in (values[0], values[length - 1]))
        yield first if length == 1 else f"{first}-{last}"
        values = values[length:]


def _values(bits: int, kind: Kind) -> list[int]:
    return [value for value in range(kind.low, kind.high + 1) if bits >> value - kind.low & 1]


def _write_modifiers(schedule: Schedule) -> Iterator[str]:
    default = Schedule(schedule.cron)
    if schedule.zone.name != default.zone.name:
        yield f"@tz({schedule.zone.name})"
    if schedule.window != default.window:
        yield f"@win({write_window(schedule.window)})"
    if schedule.distribution != default.distribution:
        yield f"@dist({_write_arguments(schedule.distribution.name, distribution_parameters(schedule))})"
    if schedule.seed != default.seed:
        yield f"@seed({_write_arguments(schedule.seed.strategy, seed_parameters(schedule.seed))})"
    policy = _policy_parameters(schedule.policy)  # the fields that @policy can express; the preset sets the others
    if policy:
        yield f"@policy({_write_arguments('', policy)})"
    if schedule.constraints.avoid:
        yield f"@avoid({write_clauses(schedule.constraints.avoid)})"
    if schedule.constraints.only:
        yield f"@only({write_clauses(schedule.constraints.only)})"


def write_window(window: Window) -> str:
    """Return the body of @win."""
    return f"{window.mode},{write_duration(window.duration)}"


def distribution_parameters(schedule: Schedule) -> Pairs:
    """Return the parameters of the distribution that differ from the defaults."""
    match schedule.distribution:
        case SkewEarly(shape) | SkewLate(shape):
            return {"shape": _write_number(shape)} if shape != 2.0 else {}
        case Exponential(decay, lean):
            defaults = {"lambda": "1", "dir": "early"}
            return {k: v for k, v in {"lambda": _write_number(decay), "dir": str(lean)}.items() if v != defaults[k]}
        case Normal(mu, sigma):
            mean = {"mu": str(mu)} if mu else {}
            return mean | ({"sigma": write_duration(sigma)} if sigma else {})
        case _:
            return {}


def seed_parameters(seed: Seed) -> Pairs:
    """Return the parameters of the seed that differ from the defaults."""
    return {"salt": quote(seed.salt)} if seed.salt else {}


def write_clauses(clauses: Clauses) -> str:
    """Return the body of @only or @avoid."""
    return ";".join(f"{key}={value}" for key, value in _clause_pairs(clauses))


def _clause_pairs(clauses: Clauses) -> Iterable[tuple[str, str]]:
    sets = {"hours": (clauses.hours, HOUR), "dow": (clauses.dow, WEEKDAY)}
    sets |= {"dom": (clauses.dom, DAY), "months": (clauses.months, MONTH)}
    for key, (bits, kind) in sets.items():
        if bits:
            yield key, ",".join(write_ranges(bits >> kind.low, kind, kind.names))
    for start, end in clauses.between:
        yield "between", f"{_write_clock(start)}-{_write_clock(end)}"
    for first, last in clauses.dates:
        if first == last:
            yield "date", date_of(first).text
        else:
            yield "dates", f"{date_of(first).text}..{date_of(last).text}"


def _policy_parameters(policy: Policy) -> Pairs:
    default = Policy()
    pairs = {}
    if policy.overlap != default.overlap and policy.overlap in _CONCURRENCY_NAMES:
        pairs["concurrency"] = _CONCURRENCY_NAMES[policy.overlap]
    if policy.deadline != default.deadline and policy.deadline is not None:
        pairs["deadline"] = write_duration(policy.deadline)
    if policy.suspend:
        pairs["suspend"] = "true"
    return pairs


def _write_arguments(name: str, pairs: Pairs) -> str:
    return ",".join(([name] if name else []) + [f"{key}={value}" for key, value in pairs.items()])


def _write_number(value: float) -> str:
    return repr(value).removesuffix(".0")


def _write_clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"
