"""The scattering algorithm of the document, written again: slow, literal, and with nothing of Kron in it."""

import re

EU, US = range(6, 10), range(14, 19)
POOL = (
    [(h, m) for h in range(2, 6) for m in (7, 13, 23, 37, 43, 53) for _ in range(3)]
    + [(h, m) for h in range(10, 13) for m in range(5, 55) for _ in range(2)]
    + [(h, m) for h in range(19, 24) for m in range(5, 55)]
)


def fnv(text):
    value = 0x811C9DC5
    for byte in text.encode():
        value ^= byte
        value = (value * 0x01000193) & 0xFFFFFFFF
    return value


def passes(hour, minute):
    if minute <= 4:
        minute += 5
    elif minute >= 55:
        minute -= 5
    if hour in EU and 27 <= minute <= 33:
        return 34
    if hour in US and 12 <= minute <= 18:
        return 19
    if hour in US and 42 <= minute <= 48:
        return 49
    return minute


def off_the_hour(minute):
    return 5 <= minute % 60 <= 54


def admissible(minute):
    hour, within = minute // 60 % 24, minute % 60
    peak = (hour in EU and 27 <= within <= 33) or (hour in US and (12 <= within <= 18 or 42 <= within <= 48))
    return off_the_hour(minute) and not peak


def window(name, numbers):
    """The first and last minute of the closed window, and the modulus."""
    if "AROUND" in name:
        target = numbers[-2] * 60 + numbers[-1]
        return target - 60, target + 60, 120
    start, end = numbers[-4] * 60 + numbers[-3], numbers[-2] * 60 + numbers[-1]
    size = end - start if start < end else 24 * 60 - start + end
    return start, start + size, size


def settle(raw, first, last):
    """C-000-14: the passes, if they stay inside; else the nearest good minute, the later of two; else any."""
    literal = raw - raw % 60 + passes(raw // 60 % 24, raw % 60)
    if first <= literal <= last:
        return literal
    inside = range(first, last + 1)
    for good in (admissible, off_the_hour):
        found = [minute for minute in inside if good(minute)]
        if found:
            return min(found, key=lambda minute: (abs(minute - raw), -minute))
    return raw


def split(placeholder):
    head = placeholder.split()[0]
    name = "".join(re.findall("[A-Z_-]+", head.removeprefix("FUZZY:")))
    return name, [int(n) for n in re.findall("[0-9]+", head)]


def stretch_cron(placeholder, identifier, shift=0):
    """The cron of an AROUND or BETWEEN placeholder whose day is `shift` days off in UTC (C-000-14, C-000-17)."""
    name, numbers = split(placeholder)
    first, last, size = window(name, numbers)
    settled = settle(first + fnv(identifier) % size, first, last)
    carry, minute = settled // 1440 + shift, settled % 1440
    if name.endswith("_WEEKDAYS"):
        days = sorted((day + carry) % 7 for day in range(1, 6))
        days = f"{days[0]}-{days[4]}" if days[4] - days[0] == 4 else ",".join(map(str, days))
    else:
        days = str((numbers[0] + carry) % 7) if name.startswith("WEEKLY") else "*"
    return f"{minute % 60} {minute // 60} * * {days}"


def literal_leaves_the_window(placeholder, identifier):
    name, numbers = split(placeholder)
    if "AROUND" not in name and "BETWEEN" not in name:
        return False
    first, last, size = window(name, numbers)
    raw = first + fnv(identifier) % size
    return not first <= raw - raw % 60 + passes(raw // 60 % 24, raw % 60) <= last
