"""Random texts of the plus dialect against its oracle: the second half of `make oracle`.

A case is a text, a stretch of time in a zone, and an instant in it, as in `benchmarks.campaign`. Texts have listed
moments, intervals, day tokens, and the modifiers @days, @dst and @valid. Most of them are aimed at a moment of their
stretch, and their moments are often in a gap or a fold.
"""

from __future__ import annotations

import sys
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from random import Random

from tests import plus_oracle
from tests.oracle import EPOCH, MONTHS, WEEKDAYS, Tick, look, rules_of

import kron
from benchmarks.campaign import DAY, LONG, SHARE, Case, Stretch, cron_field, first_unlike, random_stretch, run
from kron.language.canonical import canonical
from kron.language.reading import read_stored
from kron.timing.period import count_nominals, next_nominal, prev_nominal
from kron.timing.zone import moment, zone_names

MOST_TIMES_DAYS = 20  # how long before its aim a validity with `times` begins
NEIGHBORS = (0, 0, -1, 1, -60, 60, 1800, -1800, 3600, -3600)  # seconds between an aim and a moment that is written


def cases(seed: int, count: int) -> Iterator[Case]:
    """That many cases, the same ones for the same seed."""
    rng, zones = Random(seed), sorted(zone_names())
    for number in range(count):
        if number % SHARE == 0:
            stretch = random_stretch(rng, zones)
        at = min(max(_near_middle(rng, stretch), stretch.start), stretch.end - 1)
        yield Case(random_text(rng, stretch, at), "plus", stretch, at)


def difference(case: Case) -> str:
    """Where Kron and the oracle differ, in words; empty if nowhere."""
    stretch = case.stretch
    expected = plus_oracle.instants(case.expression, stretch.zone, stretch.start, stretch.end)
    try:
        schedule = read_stored(case.expression, "plus", stretch.zone)
    except kron.KronError as error:
        return "" if error.code == "NEVER" and not expected else f"{error.code}, but {len(expected)} are expected"
    forwards = list(takewhile(lambda t: t < stretch.end, _forwards(schedule, stretch.start - 1, len(expected) + 2)))
    if forwards != expected:
        return "forwards " + first_unlike(forwards, expected)
    backwards = list(takewhile(lambda t: t >= stretch.start, _backwards(schedule, stretch.end - 1, len(expected) + 2)))
    if backwards != expected[::-1]:
        return "backwards " + first_unlike(backwards, expected[::-1])
    return _count_difference(schedule, expected, case) or _text_difference(schedule)


def smaller(case: Case) -> Case:
    """A case that differs too, without the modifiers and the elements that it does not need."""
    words = case.expression.split()
    for place, word in enumerate(words):
        others = (["*"] if place < len(words) and "@" not in word and words[0] not in ("at", "every") else []) + [""]
        for simpler in (*others, *(word.split(",") if "@" not in word else ())):
            text = " ".join(part for part in [*words[:place], simpler, *words[place + 1 :]] if part)
            reduced = case._replace(expression=text)
            if simpler != word and _is_valid(text) and difference(reduced):
                return smaller(reduced)
    return case


def _is_valid(text: str) -> bool:
    try:
        kron.parse(text, dialect="plus")
    except kron.KronError:
        return False
    return True


def _forwards(schedule: kron.Schedule, t: int, most: int) -> Iterator[int]:
    nominal = next_nominal(schedule, t)
    while nominal is not None and most:
        yield nominal
        nominal, most = next_nominal(schedule, nominal), most - 1


def _backwards(schedule: kron.Schedule, t: int, most: int) -> Iterator[int]:
    nominal = prev_nominal(schedule, t)
    while nominal is not None and most:
        yield nominal
        nominal, most = prev_nominal(schedule, nominal - 1), most - 1


def _count_difference(schedule: kron.Schedule, expected: list[int], case: Case) -> str:
    """Compare the counts up to the instant and after it, and the neighbors of the instant."""
    at, start, end = case.at, case.stretch.start, case.stretch.end
    before, after = [t for t in expected if t <= at], [t for t in expected if t > at]
    counts = count_nominals(schedule, start - 1, at), count_nominals(schedule, at, end - 1)
    if counts != (len(before), len(after)):
        return f"counted {counts} instead of {(len(before), len(after))} around {moment(at)}"
    following, previous = next_nominal(schedule, at), prev_nominal(schedule, at)
    if after and following != after[0]:
        return f"next after {moment(at)}: {following} instead of {after[0]}"
    if before and previous != before[-1]:
        return f"latest up to {moment(at)}: {previous} instead of {before[-1]}"
    return ""


def _text_difference(schedule: kron.Schedule) -> str:
    text, dialect = canonical(schedule)
    again = read_stored(text, dialect, schedule.zone.name)
    return "" if again == schedule else f"the canonical text {text!r} has another meaning"


def _near_middle(rng: Random, stretch: Stretch) -> int:
    return rng.randrange(stretch.start, stretch.end) if rng.random() < 0.5 else (stretch.start + stretch.end) // 2


def random_text(rng: Random, stretch: Stretch, at: int) -> str:
    """A text that is aimed at an instant of a stretch."""
    aim = look(rules_of(stretch.zone), at)
    head = rng.choices((_cron, _moments, _interval), (75, 12, 13))[0](rng, aim, stretch)
    is_cron = not head.startswith(("at", "every"))
    modifiers = [_days(rng, stretch, aim)] if is_cron and rng.random() < 0.4 else []
    if not head.startswith("every") and rng.random() < 0.65:
        modifiers.append(_dst(rng))
    if rng.random() < 0.4:
        modifiers.append(_valid(rng, stretch, aim, is_cron=is_cron))
    return " ".join([head, *rng.sample(modifiers, len(modifiers))])


def _cron(rng: Random, aim: Tick, stretch: Stretch) -> str:
    rare = stretch.end - stretch.start >= LONG
    year = (EPOCH + timedelta(seconds=aim.t)).year
    fields = [
        str(aim.minute) if rare else cron_field(rng, 0.1, aim.minute, 0, 59),
        str(aim.hour) if rare else cron_field(rng, 0.3, aim.hour, 0, 23),
        _with_tokens(rng, cron_field(rng, 0.5, aim.day, 1, 31), _day_tokens(rng, aim, monthrange(year, aim.month)[1])),
        cron_field(rng, 0.8, aim.month, 1, 12, MONTHS),
        _with_tokens(rng, cron_field(rng, 0.5, aim.weekday, 0, 6, WEEKDAYS), _weekday_tokens(rng, aim)),
    ]
    return " ".join([cron_field(rng, 0.1, aim.second, 0, 59), *fields] if stretch.seconds else fields)


def _with_tokens(rng: Random, field: str, tokens: list[str]) -> str:
    if rng.random() < 0.5:
        return field
    elements = [] if field == "*" or rng.random() < 0.6 else field.split(",")
    elements += rng.sample(tokens, rng.choice((1, 1, 1, 2)))
    return ",".join(rng.sample(elements, len(elements)))


def _day_tokens(rng: Random, aim: Tick, length: int) -> list[str]:
    distance, near = max(length - aim.day, 0), min(max(aim.day + rng.randint(-2, 2), 1), 31)
    return [f"L-{distance}" if distance else "L", "L", "LW", f"{near}W", f"{rng.randint(1, 31)}W", "l-1", "lw"]


def _weekday_tokens(rng: Random, aim: Tick) -> list[str]:
    name = rng.choice((WEEKDAYS[aim.weekday], str(aim.weekday)))
    other = rng.choice(WEEKDAYS).lower()
    return [f"{name}#{(aim.day - 1) // 7 + 1}", f"{name}L", f"{other}L", f"{other}#{rng.randint(1, 5)}"]


def _moments(rng: Random, aim: Tick, stretch: Stretch) -> str:
    texts = dict.fromkeys(_moment(rng, stretch, aim.t + rng.randrange(-DAY, DAY)) for _ in range(rng.randint(0, 3)))
    texts |= dict.fromkeys([_moment(rng, stretch, aim.t)])
    distinct = {datetime.fromisoformat(text): text for text in texts}  # the same moment twice is refused
    return "at " + ",".join(distinct.values())


def _interval(rng: Random, aim: Tick, stretch: Stretch) -> str:
    smallest = 60 if not stretch.seconds else 1
    seconds = rng.choice((smallest, 90, 5400, 3600, 7200, 86_400, rng.randrange(smallest, 200_000)))
    shortest = (stretch.end - stretch.start) // 5_000  # so that a stretch does not have too many
    seconds = max(seconds, shortest)
    anchor = aim.t - rng.choice((0, 0, 1, 2, 50)) * seconds
    texts = [f"{seconds}s", f"{seconds // 3600}h{seconds // 60 % 60}m{seconds % 60}s"]
    return f"every {rng.choice(texts)} from {_moment(rng, stretch, anchor)}"


def _moment(rng: Random, stretch: Stretch, t: int) -> str:
    """A moment near an instant, as people write it. A wall-clock time that is moved is often in a gap."""
    t += rng.choice(NEIGHBORS)
    form = rng.random()
    if form < 0.2:
        text = f"{moment(t).replace(tzinfo=None).isoformat()}Z"
    elif form < 0.35:
        offset = timedelta(minutes=rng.randrange(-720, 720))
        text = (moment(t).replace(tzinfo=None) + offset).isoformat() + _offset_text(offset)
    else:
        wall = moment(t).astimezone(rules_of(stretch.zone)).replace(tzinfo=None, fold=0)
        text = (wall + timedelta(seconds=rng.choice(NEIGHBORS))).isoformat()
    return text[:16] + text[19:] if text[17:19] == "00" and rng.random() < 0.7 else text


def _offset_text(offset: timedelta) -> str:
    minutes = abs(offset) // timedelta(minutes=1)
    return f"{'-' if offset < timedelta() else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def _days(rng: Random, stretch: Stretch, aim: Tick) -> str:
    parts = [f"match={rng.choice(('both', 'both', 'either'))}"] if rng.random() < 0.6 else []
    if not parts or rng.random() < 0.6:
        day = datetime.fromtimestamp(aim.t, UTC).astimezone(rules_of(stretch.zone)).date()
        number, unit = rng.choice((1, 2, 3, 5, 7, 14, 100)), rng.choice("dw")
        past = rng.choice((0, 1, 2, 3)) * number * (7 if unit == "w" else 1) + rng.choice((0, 0, 0, 1, -1, 3))
        parts += [f"every={number}{unit}", f"from={day - timedelta(days=past)}"]
    return f"@days({','.join(rng.sample(parts, len(parts)))})"


def _dst(rng: Random) -> str:
    gap, fold = rng.choice(plus_oracle.POLICIES)
    keys = rng.choice(([f"gap={gap}"], [f"fold={fold}"], *[[f"gap={gap}", f"fold={fold}"]] * 3))
    return f"@dst({rng.choice(('once', 'wall', *[','.join(keys)] * 6))})"


def _valid(rng: Random, stretch: Stretch, aim: Tick, *, is_cron: bool) -> str:
    length = min(stretch.end - stretch.start, MOST_TIMES_DAYS * DAY)
    times = rng.random() < 0.4
    parts = []
    if (times and is_cron) or rng.random() < 0.6:
        parts.append(f"from={_moment(rng, stretch, aim.t - rng.choice((0, rng.randrange(length))))}")
    if not parts or rng.random() < 0.5:
        parts.append(f"until={_moment(rng, stretch, aim.t + rng.choice((0, rng.randrange(length))))}")
    if times and (parts[0].startswith("from") or not is_cron):
        parts.append(f"times={rng.choice((1, 2, 3, 10, 100, 1000))}")
    return f"@valid({','.join(rng.sample(parts, len(parts)))})"


if __name__ == "__main__":
    sys.exit(run(__doc__.partition("\n")[0], cases, difference, smaller))
