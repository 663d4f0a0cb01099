"""Conformance tests of the Fuzzy Schedule Time Syntax: the 62 tests of section 10.2, by id."""

from __future__ import annotations

from collections.abc import Callable

from kron.apps.cli.conformance import Check, Pairs, Report, conform
from kron.apps.cli.conformance.evidence import (
    IDENTIFIERS,
    INTERVAL_SENTENCES,
    SCATTERED_SENTENCES,
    avoids,
    crons,
    different_hashes,
    field_in,
    minutes_in,
    offset_of,
    pooled,
    refuses,
    same_hashes,
    says,
    stays,
    steps,
    time_of,
)
from kron.language.sentences.placeholder import Around, Between
from kron.language.sentences.scatter import draw, seed_of
from kron.language.sentences.sentence_errors import WEEKDAYS

DOCUMENT = "Fuzzy Schedule Time Syntax 1.2.0"

# id, levels from the checklist of section 10.3, and the text of section 10.2
TESTS = """
T-SYNTAX-001      1    Parse daily to FUZZY:DAILY * * *
T-SYNTAX-002      1    Parse weekly to FUZZY:WEEKLY * * *
T-SYNTAX-003      1    Parse weekly on monday to FUZZY:WEEKLY:1 * * 1
T-SYNTAX-004      1    Parse all weekday names correctly
T-SYNTAX-005      1    Reject invalid schedule types
T-SYNTAX-006      1    Reject invalid weekday names
T-SYNTAX-007      1    Parse case-insensitive tokens
T-TIME-001        2    Parse 24-hour format 14:00
T-TIME-002        2    Parse 12-hour format 3pm
T-TIME-003        2    Parse 12-hour format 11am
T-TIME-004        2    Parse keyword midnight as 00:00
T-TIME-005        2    Parse keyword noon as 12:00
T-TIME-006        2    Convert 12am to 00:00 (midnight)
T-TIME-007        2    Convert 12pm to 12:00 (noon)
T-TIME-008        2    Reject invalid hours (>23 or <0)
T-TIME-009        2    Reject invalid minutes (>59 or <0)
T-TIME-010        2    Handle missing leading zeros (e.g., 9:30)
T-CONSTRAINT-001  2    Parse daily around 14:00
T-CONSTRAINT-002  2    Parse daily between 9:00 and 17:00
T-CONSTRAINT-003  2    Parse weekly on friday around 17:00
T-CONSTRAINT-004  2    Handle midnight-crossing ranges (22:00 and 02:00)
T-CONSTRAINT-005  2    Reject around without time specification
T-CONSTRAINT-006  2    Reject between with only one time
T-CONSTRAINT-007  2    Reject daily at <time> syntax
T-TZ-001          3    Parse utc+9 offset
T-TZ-002          3    Parse utc-5 offset
T-TZ-003          3    Parse utc+05:30 offset format
T-TZ-004          3    Convert 14:00 utc+9 to 05:00 UTC
T-TZ-005          3    Convert 3pm utc-5 to 20:00 UTC
T-TZ-006          3    Handle negative UTC conversion (wrap to previous day)
T-TZ-007          3    Handle >24:00 UTC conversion (wrap to next day)
T-TZ-008          3    Reject invalid offsets (e.g., utc+25)
T-HOURLY-001      2    Parse hourly to FUZZY:HOURLY * * *
T-HOURLY-002      2    Parse every 2h to FUZZY:HOURLY:2 * * *
T-HOURLY-003      2    Parse every 6 hours to FUZZY:HOURLY:6 * * *
T-INTERVAL-001    3    Parse every 5 minutes to */5 * * * *
T-INTERVAL-002    3    Parse every 2 days to 0 0 */2 * *
T-INTERVAL-003    3    Reject every 3 minutes (below 5-minute minimum)
T-INTERVAL-004    3    Parse bi-weekly to FUZZY:BI-WEEKLY * * *
T-INTERVAL-005    3    Parse tri-weekly to FUZZY:TRI-WEEKLY * * *
T-SCATTER-001     1    Hash produces same output for same input
T-SCATTER-002     1    Different inputs produce different outputs
T-SCATTER-003     1-3  Hash value is within modulo range (0 to modulo-1)
T-SCATTER-004     1-3  Daily schedule selects time from weighted pool (BEST/GOOD/OK tiers only)
T-SCATTER-005     1-3  Around schedule stays within ±60 minute window
T-SCATTER-006     1-3  Between schedule stays within specified range
T-SCATTER-007     1-3  Midnight-crossing range handles day wrap correctly
T-SCATTER-008     1-3  Hourly schedule produces minute in [5, 54]
T-SCATTER-009     1-3  Weekly schedule selects valid day 0-6
T-SCATTER-010     1-3  Same workflow gets same time across compilations
T-SCATTER-011     1-3  Daily schedule lands in BEST (02-05), GOOD (10-12), or OK (19-23) window
T-SCATTER-012     1-3  Minute values in [5, 54] for all patterns (hour-boundary avoidance)
T-SCATTER-013     2-3  DAILY_AROUND scatter landing in EU peak hours (06-09) avoids minutes [27, 33]
T-SCATTER-014     2-3  DAILY_AROUND scatter landing in US business hours (14-18) avoids [12, 18] and [42, 48]
T-SCATTER-015     1-3  Weekly schedule uses weighted daily time pool (preferred windows)
T-SCATTER-016     1-3  Bi-weekly and tri-weekly schedules use weighted daily time pool
T-CRON-001        1-3  Generated cron has exactly 5 fields
T-CRON-002        1-3  Minute field is in range 0-59
T-CRON-003        1-3  Hour field is in range 0-23
T-CRON-004        1-3  Day-of-week field is in range 0-6 or *
T-CRON-005        1-3  Month and day-of-month are valid
T-CRON-006        1-3  Interval expressions use valid */N syntax
"""

_QUIET_HOURS = (2, 3, 4, 5, 10, 11, 12, 19, 20, 21, 22, 23)

EVIDENCE: dict[str, Callable[[], Pairs]] = {
    "T-SYNTAX-001": lambda: says(("daily", "FUZZY:DAILY * * *")),
    "T-SYNTAX-002": lambda: says(("weekly", "FUZZY:WEEKLY * * *")),
    "T-SYNTAX-003": lambda: says(("weekly on monday", "FUZZY:WEEKLY:1 * * 1")),
    "T-SYNTAX-004": lambda: says(
        *((f"weekly on {day}", f"FUZZY:WEEKLY:{n} * * {n}") for n, day in enumerate(WEEKDAYS))
    ),
    "T-SYNTAX-005": lambda: refuses("UNKNOWN_KEYWORD", "monthly", "yearly", "", "@daily"),
    "T-SYNTAX-006": lambda: refuses("UNKNOWN_WEEKDAY", "weekly on mondey", "weekly on mon", "weekly on 1"),
    "T-SYNTAX-007": lambda: says(("DAILY", "FUZZY:DAILY * * *"), ("Weekly On MONDAY", "FUZZY:WEEKLY:1 * * 1")),
    "T-TIME-001": lambda: [(time_of("14:00"), (14 * 60, 0))],
    "T-TIME-002": lambda: [(time_of("3pm"), (15 * 60, 0))],
    "T-TIME-003": lambda: [(time_of("11am"), (11 * 60, 0))],
    "T-TIME-004": lambda: [(time_of("midnight"), (0, 0))],
    "T-TIME-005": lambda: [(time_of("noon"), (12 * 60, 0))],
    "T-TIME-006": lambda: [(time_of("12am"), (0, 0))],
    "T-TIME-007": lambda: [(time_of("12pm"), (12 * 60, 0))],
    "T-TIME-008": lambda: refuses("HOUR_OUT_OF_RANGE", *(f"daily around {hour}:00" for hour in (24, 25, 99, -1))),
    "T-TIME-009": lambda: refuses(
        "MINUTE_OUT_OF_RANGE", "daily around 14:60", "daily around 14:65", "daily around 14:-1"
    ),
    "T-TIME-010": lambda: [(time_of("9:30"), (9 * 60 + 30, 0)), (time_of("9:30"), time_of("09:30"))],
    "T-CONSTRAINT-001": lambda: says(("daily around 14:00", "FUZZY:DAILY_AROUND:14:0 * * *")),
    "T-CONSTRAINT-002": lambda: says(("daily between 9:00 and 17:00", "FUZZY:DAILY_BETWEEN:9:0:17:0 * * *")),
    "T-CONSTRAINT-003": lambda: says(("weekly on friday around 17:00", "FUZZY:WEEKLY:5:AROUND:17:0 * * 5")),
    "T-CONSTRAINT-004": lambda: says(("daily between 22:00 and 02:00", "FUZZY:DAILY_BETWEEN:22:0:2:0 * * *")),
    "T-CONSTRAINT-005": lambda: refuses("MISSING_TIME_SPEC", "daily around", "weekly on monday around"),
    "T-CONSTRAINT-006": lambda: refuses("INCOMPLETE_RANGE", "daily between 9:00", "daily between 9:00 and"),
    "T-CONSTRAINT-007": lambda: refuses("UNSUPPORTED_SYNTAX", "daily at 14:00", "daily at noon"),
    "T-TZ-001": lambda: [(offset_of("utc+9"), 540)],
    "T-TZ-002": lambda: [(offset_of("utc-5"), -300)],
    "T-TZ-003": lambda: [(offset_of("utc+05:30"), 330)],
    "T-TZ-004": lambda: [(time_of("14:00 utc+9"), (5 * 60, 0))],
    "T-TZ-005": lambda: [(time_of("3pm utc-5"), (20 * 60, 0))],
    "T-TZ-006": lambda: [(time_of("02:00 utc+9"), (17 * 60, -1))],
    "T-TZ-007": lambda: [(time_of("23:00 utc-5"), (4 * 60, 1))],
    "T-TZ-008": lambda: refuses("INVALID_OFFSET", "daily around 9am utc+25", "daily around 9am utc-12:01"),
    "T-HOURLY-001": lambda: says(("hourly", "FUZZY:HOURLY * * *")),
    "T-HOURLY-002": lambda: says(("every 2h", "FUZZY:HOURLY:2 * * *")),
    "T-HOURLY-003": lambda: says(("every 6 hours", "FUZZY:HOURLY:6 * * *")),
    "T-INTERVAL-001": lambda: says(("every 5 minutes", "*/5 * * * *")),
    "T-INTERVAL-002": lambda: says(("every 2 days", "0 0 */2 * *")),
    "T-INTERVAL-003": lambda: refuses("INTERVAL_TOO_SMALL", "every 3 minutes", "every 4m", "every 1 minute"),
    "T-INTERVAL-004": lambda: says(("bi-weekly", "FUZZY:BI-WEEKLY * * *")),
    "T-INTERVAL-005": lambda: says(("tri-weekly", "FUZZY:TRI-WEEKLY * * *")),
    "T-SCATTER-001": same_hashes,
    "T-SCATTER-002": different_hashes,
    "T-SCATTER-003": lambda: [(draw(seed_of(i), n) in range(n), True) for i in IDENTIFIERS for n in (1, 60, 120, 1440)],
    "T-SCATTER-004": lambda: pooled("daily"),
    "T-SCATTER-005": lambda: [p for h in range(24) for p in stays(f"daily around {h}:58", Around(h * 60 + 58))],
    "T-SCATTER-006": lambda: [
        p for h in range(23) for p in stays(f"daily between {h}:12 and {h}:20", Between(h * 60 + 12, h * 60 + 20))
    ],
    "T-SCATTER-007": lambda: stays("daily between 22:00 and 02:00", Between(22 * 60, 2 * 60)),
    "T-SCATTER-008": lambda: minutes_in(5, 54, "hourly", "every 2h"),
    "T-SCATTER-009": lambda: [(fields[4] in tuple("0123456"), True) for fields in crons("weekly")],
    "T-SCATTER-010": lambda: zip(crons(*SCATTERED_SENTENCES), crons(*SCATTERED_SENTENCES), strict=True),
    "T-SCATTER-011": lambda: [(int(fields[1]) in _QUIET_HOURS, True) for fields in crons("daily")],
    "T-SCATTER-012": lambda: minutes_in(5, 54, *SCATTERED_SENTENCES),
    "T-SCATTER-013": lambda: avoids(range(6, 10), range(27, 34)),
    "T-SCATTER-014": lambda: [*avoids(range(14, 19), range(12, 19)), *avoids(range(14, 19), range(42, 49))],
    "T-SCATTER-015": lambda: pooled("weekly", "weekly on monday"),
    "T-SCATTER-016": lambda: pooled("bi-weekly", "tri-weekly"),
    "T-CRON-001": lambda: [(len(fields), 5) for fields in crons(*SCATTERED_SENTENCES, *INTERVAL_SENTENCES)],
    "T-CRON-002": lambda: field_in(0, 0, 59),
    "T-CRON-003": lambda: field_in(1, 0, 23),
    "T-CRON-004": lambda: field_in(4, 0, 6),
    "T-CRON-005": lambda: [*field_in(2, 1, 31), *field_in(3, 1, 12)],
    "T-CRON-006": steps,
}


def _checks() -> list[Check]:
    rows = [line.split(maxsplit=2) for line in TESTS.strip().splitlines()]
    return [Check(id, int(levels[0]), int(levels[-1]), words, EVIDENCE[id]) for id, levels, words in rows]


CHECKS = tuple(_checks())


def report() -> Report:
    """Run all checks and return the report of this installation."""
    return conform(DOCUMENT, CHECKS)
