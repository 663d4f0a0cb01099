"""Schedules as the CronJob controller has them: its parser, and its search for the next time, step by step."""

from datetime import UTC, datetime

from kron.language.grammar import DAY_NAMES, MONTH_NAMES
from kron.timing.zone import zone

MONTHS = {name.lower(): number for number, name in enumerate(MONTH_NAMES, 1)}
DAYS = {name.lower(): number for number, name in enumerate(DAY_NAMES)}
BOUNDS = ((0, 59, {}), (0, 23, {}), (1, 31, {}), (1, 12, MONTHS), (0, 6, DAYS))


def parsed(text):
    """For each field its values, and whether it has a star."""
    return [field(part, *bounds) for part, bounds in zip(text.split(), BOUNDS, strict=True)]


def field(text, low, high, names):
    values, star = set(), False
    for part in filter(None, text.split(",")):
        base, slash, step = part.partition("/")
        first, dash, last = base.partition("-")
        if first in ("*", "?"):
            start, end = low, high
            star |= not slash or int(step) == 1
        else:
            start = number(first, names)
            end = number(last, names) if dash else high if slash else start
        values |= set(range(start, end + 1, int(step) if slash else 1))
    return values, star


def number(text, names):
    return names.get(text.lower()) if text.lower() in names else int(text)


class Time:
    """A time as Go has it: seconds since 1970, and the clock of a zone."""

    def __init__(self, seconds, rules):
        self.seconds, self.rules = seconds, rules
        self.wall = datetime.fromtimestamp(seconds, rules)

    @classmethod
    def date(cls, year, month, day, hour, rules):
        """Go's time.Date: months and days beyond the end are carried over; two lookups find the offset."""
        years, month = divmod(month - 1, 12)
        first = int(datetime(year + years, month + 1, 1, tzinfo=UTC).timestamp())
        local = first + (day - 1) * 86_400 + hour * 3_600
        return cls(local - offset(rules, local - offset(rules, local)), rules)

    def plus(self, seconds):
        return Time(self.seconds + seconds, self.rules)

    def moved(self, months, days):
        """Go's AddDate, of a time whose minutes are those of the clock."""
        wall = self.wall
        moved = Time.date(wall.year, wall.month + months, wall.day + days, wall.hour, self.rules)
        return moved.plus(wall.minute * 60 + wall.second)


def offset(rules, seconds):
    return int(datetime.fromtimestamp(seconds, rules).utcoffset().total_seconds())


def next_time(fields, t):
    """The next time after t; None after five years."""
    last_year, t, added = t.wall.year + 5, t.plus(1), False
    while t.wall.year <= last_year:
        t, added, wraps = passed(fields, t, added)
        if not wraps:
            return t
    return None


def passed(fields, t, added):
    """One way through the loops of the fields: the time, whether it was moved, and whether a field wrapped."""
    (minutes, _), (hours, _), _, (months, _), _ = fields
    while t.wall.month not in months:
        t, added = (t if added else Time.date(t.wall.year, t.wall.month, 1, 0, t.rules)).moved(1, 0), True
        if t.wall.month == 1:
            return t, added, True
    while not day_matches(fields, t.wall):
        t = (t if added else Time.date(t.wall.year, t.wall.month, t.wall.day, 0, t.rules)).moved(0, 1)
        added, hour = True, t.wall.hour
        if hour:
            t = t.plus((24 - hour if hour > 12 else -hour) * 3_600)
        if t.wall.day == 1:
            return t, added, True
    while t.wall.hour not in hours:
        t = (t if added else Time.date(t.wall.year, t.wall.month, t.wall.day, t.wall.hour, t.rules)).plus(3_600)
        added = True
        if t.wall.hour == 0:
            return t, added, True
    while t.wall.minute not in minutes:
        t, added = (t if added else t.plus(-(t.seconds % 60))).plus(60), True
        if t.wall.minute == 0:
            return t, added, True
    while t.wall.second:
        t, added = t.plus(1), True
        if t.wall.second == 0:
            return t, added, True
    return t, added, False


def day_matches(fields, wall):
    _, _, (days, day_star), _, (weekdays, weekday_star) = fields
    by_date, by_weekday = wall.day in days, wall.isoweekday() % 7 in weekdays
    return by_date and by_weekday if day_star or weekday_star else by_date or by_weekday


def next_times(text, zone_name, after, count):
    """The next times of a schedule, in seconds since 1970."""
    fields, t, found = parsed(text), Time(after, zone(zone_name).rules), []
    while t and len(found) < count:
        t = next_time(fields, t)
        found += [t.seconds] if t else []
    return found
