"""Debian's cron, slow and obvious: walk the minutes, look at the wall, and see whether the line names what it shows.

A line whose minute or hour begins with `*` follows the clock on the wall. Any other line runs once for each listed
time: in a fold the first time, and after a gap at once for each listed time that the gap skipped.
"""

from datetime import timedelta

from tests.oracle import EPOCH, MONTHS, WEEKDAYS, look, rules_of, values

MINUTE = 60
LONG_GAP = 3 * 3_600


def runs(fields, zone, start, end):
    """The instants with `start <= t < end` at which cron starts the command; one for each start."""
    texts = fields.split()
    is_wild, rules, result = any(text.startswith("*") for text in texts[:2]), rules_of(zone), []
    for t in range(start + -start % MINUTE, end, MINUTE):
        tick, change = look(rules, t), offset(rules, t) - offset(rules, t - MINUTE)
        if matches(texts, tick) and (is_wild or is_first(rules, t)):
            result.append(t)
        if not is_wild and 0 < change < LONG_GAP:
            wall = t + offset(rules, t - MINUTE)  # the first skipped time, read as if it were in UTC
            skipped = range(wall, wall + change, MINUTE)
            result += [t for second in skipped if matches(texts, look(rules_of("UTC"), second))]
    return sorted(result)


def matches(texts, tick):
    minute, hour, day, month, weekday = texts
    in_days = tick.day in values(day, 1, 31)
    in_weekdays = tick.weekday in {value % 7 for value in values(weekday, 0, 6, WEEKDAYS)}
    both = day.startswith("*") or weekday.startswith("*")
    return (
        tick.minute in values(minute, 0, 59)
        and tick.hour in values(hour, 0, 23)
        and tick.month in values(month, 1, 12, MONTHS)
        and (in_days and in_weekdays if both else in_days or in_weekdays)
    )


def is_first(rules, t):
    """Whether the wall clock did not show the same time before: it is not the second pass of a fold."""
    return (EPOCH + timedelta(seconds=t)).astimezone(rules).fold == 0


def offset(rules, t):
    return int((EPOCH + timedelta(seconds=t)).astimezone(rules).utcoffset().total_seconds())


def split(text):
    """The command and the input of a line, character by character, as the manual page of cron says it."""
    command, data, characters, in_data = "", "", list(text), False
    while characters:
        character = characters.pop(0)
        if character == "\\" and characters and (characters[0] == "%" or not in_data):
            escaped = characters.pop(0)
            part = "%" if escaped == "%" else character + escaped
        elif character == "%":
            part, in_data = "\n" if in_data else "", True
        else:
            part = character
        command, data = (command, data + part) if in_data else (command + part, data)
    return command, data if not data or data.endswith("\n") else data + "\n"
