"""Two hundred cron expressions such as people write, in about the shares in which they write them.

Five fields, and only what every library in the comparison reads alike. Nothing is random: each group
below is spelled out, so that a figure can be traced to the expressions that made it.
"""

from __future__ import annotations

GROUPS: dict[str, list[str]] = {
    "every minute": ["* * * * *"] * 6,
    "every few minutes": [
        *(f"*/{n} * * * *" for n in (2, 3, 5, 5, 5, 10, 10, 15, 15, 20, 30, 30)),
        "0,15,30,45 * * * *",
        "5,35 * * * *",
    ],
    "hourly": [f"{minute} * * * *" for minute in (*(0,) * 8, *range(1, 60, 3))],
    "every few hours": [
        *(
            f"{minute} */{n} * * *"
            for minute, n in ((0, 2), (10, 3), (0, 4), (25, 6), (0, 6), (40, 8), (0, 12), (5, 12))
        ),
        "0 0-6,20-23 * * *",
        "5,35 */2 * * *",
    ],
    "daily": [
        *(f"0 {hour} * * *" for hour in range(24)),
        *(f"30 {hour} * * *" for hour in (0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 12, 18, 22, 23)),
        *(
            f"{minute} {hour} * * *"
            for minute, hour in ((5, 0), (15, 3), (45, 4), (17, 5), (10, 6), (55, 23), (1, 0), (59, 23))
        ),
        "0 8,20 * * *",
        "15 6,12,18 * * *",
        "0 9-17 * * *",
        "*/5 0-1 * * *",
    ],
    "working days": [
        *(f"0 {hour} * * 1-5" for hour in range(6, 20)),
        *(
            f"{minute} {hour} * * MON-FRI"
            for minute, hour in ((15, 5), (30, 6), (15, 7), (30, 8), (15, 9), (45, 16), (30, 17), (30, 18))
        ),
        *(
            f"*/{n} {hours} * * 1-5"
            for n, hours in ((5, "9-17"), (10, "8-16"), (15, "7-18"), (15, "9-16"), (30, "8-17"), (5, "7-19"))
        ),
        "0,15,30,45 9-17 * * 1-5",
    ],
    "weekly": [
        *(f"0 {3 * weekday} * * {weekday}" for weekday in range(7)),
        *(f"{7 * weekday} {20 - weekday} * * {weekday}" for weekday in range(7)),
        "0 22 * * FRI",
        "30 4 * * SUN",
        "0 1 * * 6,0",
        "*/10 8-20 * * 6,0",
        "0 3 * * 2,4",
    ],
    "monthly": [
        *(f"0 {hour} 1 * *" for hour in (0, 0, 1, 3, 6, 9)),
        *(f"30 {hour} {day} * *" for hour, day in ((2, 2), (4, 15), (8, 15), (12, 10), (23, 28), (5, 20))),
        "0 6 1,15 * *",
        "45 23 28-31 * *",
        *(f"0 {hour} 30 * *" for hour in (1, 9, 18, 23)),
        *(f"{minute} {hour} 31 * *" for minute, hour in ((0, 0), (30, 5), (15, 12), (0, 17), (59, 23))),
    ],
    "quarterly and yearly": [
        *(f"0 {hour} 1 1,4,7,10 *" for hour in (0, 2, 5, 8)),
        "0 12 1 */3 *",
        "0 4 31 MAR,DEC *",
        *("0 0 1 1 *",) * 4,
        "0 9 25 12 *",
        *(f"0 {hour} 29 2 *" for hour in (0, 6, 12)),
    ],
    "either day": [
        "0 0 13 * 5",
        "0 9 1-7 * 1",
        "0 4 8-14 * 6",
        "0 0 1,15 * 1",
        "30 7 1 * 1-5",
        "0 12 1,11,21 * 3",
        "0 5 1,15 * SUN",
    ],
}

EXPRESSIONS: list[str] = [expression for group in GROUPS.values() for expression in group]

YEAR = 1_767_225_600  # 2026-01-01T00:00:00Z
STARTS: list[int] = [  # one for each expression: spread over the year by the golden ratio, at any time of the day
    YEAR + number * 19_490_317 % (365 * 86_400) for number in range(len(EXPRESSIONS))
]
