"""Whether it stayed flat: the last third of the samples beside the one before it; the first is for warming up."""

from statistics import median

SIZE, DEAD, LATE = 1.25, 2.0, 1.5  # how much more the last third may have
ROOM = {"size": 1 << 20, "dead": 2_000, "late": 50.0}  # and what is nothing in any case: bytes, rows, milliseconds


def judged(samples):
    """What was compared: its name, the middle, the end, and whether that is flat."""
    third = len(samples) // 3
    middle, end = samples[third : 2 * third], samples[2 * third :]

    def most(of):
        return max(map(of, middle)), max(map(of, end))

    def usual(of):
        return median(map(of, middle)), median(map(of, end))

    return [
        _line("table of what is due, bytes", *most(lambda s: s.table), SIZE, ROOM["size"]),
        _line("its indexes, bytes", *most(lambda s: s.indexes), SIZE, ROOM["size"]),
        _line("dead rows, the most", *most(lambda s: s.dead), DEAD, ROOM["dead"]),
        _line("from due to done p50, ms", *usual(lambda s: s.p50), LATE, ROOM["late"]),
        _line("from due to done p99, ms", *usual(lambda s: s.p99), LATE, ROOM["late"]),
    ]


def _line(name, before, after, times, room):
    return name, before, after, after <= before * times + room
