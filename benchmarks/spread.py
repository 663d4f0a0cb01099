"""How well 10,000 daily jobs are placed: the busiest minute of a day, for three ways of choosing one.

    midnight   everyone writes 0 0 * * *
    sentence   everyone writes `daily`: the weighted pool of the fuzzy document
    flat hash  minute = hash % 1440: what the document's first version did

Nothing is timed, so the figures are the same on every machine.
"""

from collections import Counter

from kron.language import parse
from kron.language.density import Piece, load
from kron.language.sentences.scatter import seed_of
from kron.timing.schedule import Schedule

JOBS = 10_000
DAY = 1_772_323_200  # 2026-03-01
IDENTITIES = [f"org-{n % 40}/repo-{n % 611}/.github/workflows/job-{n}.md" for n in range(JOBS)]


def main() -> None:
    """Print the table, and the verdict as the last line."""
    midnight = parse("0 0 * * *", dialect="kron")
    ways = {
        "midnight": [midnight] * JOBS,
        "sentence": [parse("daily", dialect="fuzzy", identity=identity) for identity in IDENTITIES],
        "flat hash": [_flat(identity) for identity in IDENTITIES],
    }
    print(f"{JOBS:,} daily jobs, runs per minute of one day\n")
    print(f"{'':10}{'peak':>8}{'p99':>8}{'median':>8}{'minutes used':>14}{'in quiet hours':>16}")
    peaks = {}
    for name, schedules in ways.items():
        counts = _counts(schedules)
        busy = sorted(counts.values())
        quiet = sum(count for minute, count in counts.items() if minute // 60 in _QUIET) / JOBS
        peaks[name] = busy[-1]
        p99, median = busy[len(busy) * 99 // 100], busy[len(busy) // 2]
        print(f"{name:10}{busy[-1]:8,}{p99:8,}{median:8,}{len(busy):14,}{quiet:16.0%}")
    print()
    better, worse = peaks["midnight"] / peaks["sentence"], peaks["sentence"] / peaks["flat hash"]
    print(
        f"verdict: the peak of sentences is {better:.0f} times lower than at midnight, and {worse:.1f} times higher "
        "than by a flat hash, which is the price of keeping to the quiet hours"
    )


_QUIET = (2, 3, 4, 5, 10, 11, 12, 19, 20, 21, 22, 23)


def _flat(identity: str) -> Schedule:
    hour, minute = divmod(seed_of(identity) % 1_440, 60)
    return parse(f"{minute} {hour} * * *", dialect="kron")


def _counts(schedules: list[Schedule]) -> Counter[int]:
    pieces = [Piece(schedule, "any") for schedule in schedules]
    return Counter({(at - DAY) // 60: count for at, count in load(pieces, DAY, DAY + 86_400).runs.items()})


if __name__ == "__main__":
    main()
