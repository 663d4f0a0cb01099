"""The words of the grammars, good and bad: what a fuzzer puts together, and the texts that it starts from."""

import json

from tests.fuzz.targets import FOREIGN, RECORD
from tests.fuzz.targets import QUESTION as RECORD_KEYS
from tests.language import golden

FIELDS = [
    "*",
    "0",
    "5",
    "59",
    "60",
    "7",
    "31",
    "1-5",
    "22-2",
    "*/5",
    "1-9/2",
    "5/2",
    "1,2",
    "MON",
    "fri",
    "JAN",
    "L",
    "?",
]
SIGNS = [
    " ",
    "\t",
    ",",
    "-",
    "/",
    "*",
    "(",
    ")",
    "=",
    ";",
    '"',
    "\\",
    "@",
    "#",
    "..",
    ":",
    ".",
    "\n",
    "\r",
    "\0",
    "é",
    "\ud800",
]
MODIFIERS = [
    *("@tz(", "@win(", "@dist(", "@seed(", "@policy(", "@avoid(", "@only(", "@daily", "UTC", "Europe/Paris", "after"),
    *("around", "uniform", "normal", "skewEarly", "skewLate", "exponential", "mu=", "sigma=", "shape=", "lambda="),
    *("dir=late", "nominal", "stable", "daily", "weekly", "salt=", "concurrency=", "allow", "deadline=", "suspend="),
    *("true", "1h30m", "1.5s", "-1m", "0", "2.5", "1e9", "hours=", "dow=", "dom=", "months=", "between=", "08:00"),
    *("date=", "dates=", "2026-12-25", "2026-02-30"),
]
KEYS = [
    *("name=", "command=", "user=", "group=", "cwd=", "env=", "shell=", "umask=", "timeout=", "stdout=", "stderr="),
    *("grace=", "description=", "/tmp", "A=b"),
]
JSON = ["{", "}", "[", "]", '":"', "null", "1e999", "\\ud800", "2026-03-01T10:00:00Z", *(f'"{key}"' for key in RECORD)]

QUESTION = ["?", "L", "LW", "L-3", "15W", "6#3", "MON#1", "6L", "5C", "0/5", "2026", "2026-2028", "2026/2", "FRI-MON"]
CALLS = ["cron(", "rate(", "at(", "5 minutes", "1 hour", "days", " from ", "2026-12-01T09:00:00", "2026-01-01T00:00"]
HASHES = ["H", "H(0-7)", "H/15", "H(9-16)/2", "TZ=", "TZ=Europe/Paris\n", "@daily", "@midnight", "UTC"]
RECURRENCES = [
    *(
        "DTSTART:20260105T090000 ",
        "DTSTART;TZID=Europe/Paris:20260105T023000 ",
        "RRULE:",
        "EXDATE;VALUE=DATE:20261225 ",
    ),
    *("FREQ=DAILY", "FREQ=WEEKLY", "FREQ=MONTHLY", "FREQ=YEARLY", "FREQ=HOURLY", "FREQ=MINUTELY", ";INTERVAL=2"),
    *(";INTERVAL=90", ";COUNT=3", ";UNTIL=20270101T000000Z", ";BYDAY=MO,-1FR", ";BYDAY=2TU", ";BYMONTHDAY=1,-1"),
    *(";BYMONTH=2,6", ";BYHOUR=9,17", ";BYMINUTE=0,30", ";BYSECOND=30", ";WKST=SU", ";BYSETPOS=-1", ";BYDAY=SU", "Z"),
]

WORDS = {
    "posix": FIELDS + SIGNS,
    "service": FIELDS + SIGNS,
    "kron": ["0 0 * * * ", *FIELDS, *SIGNS, *MODIFIERS],
    "table": ["0 0 * * * ", "name=a ", "command=b ", *FIELDS, *SIGNS, *MODIFIERS, *KEYS],
    "record": ["0 0 * * * ", *FIELDS, *SIGNS, *MODIFIERS, *JSON],
    "vixie": ["0 0 * * ", *FIELDS, *SIGNS, "@daily", "@reboot", "~"],
    "quartz": ["0 0 9 ", *FIELDS, *SIGNS, *QUESTION],
    "aws": ["cron(0 9 ", *FIELDS, *SIGNS, *QUESTION, *CALLS],
    "rrule": [*RECURRENCES, *SIGNS],
    "jenkins": ["0 0 * * ", *FIELDS, *SIGNS, *HASHES],
}

GOOD = {
    "posix": ["0 0 * * *", "15 3 * * 1-5", "0,30 0-5 1,15 1-12 0-6"],
    "service": ["*/10 * * * * *", "0 0 * * 5-7", "1-30/7 */2 * JAN-mar MON,wed"],
    "kron": [
        '0 10 * * * @tz(Europe/Paris) @win(around,90m) @dist(skewLate,shape=2.5) @seed(daily,salt="a b")',
        "0 18 * * * @win(around,1h) @only(dow=MON-FRI;between=08:00-20:00) @avoid(dates=2026-12-24..2026-12-31)",
        "*/5 * 1-7/2 JAN,6-8 MON @dist(exponential,dir=late,lambda=0.8) @policy(concurrency=replace,deadline=1.5h)",
    ],
    "table": [
        '# jobs\n0 0 * * * @tz(UTC) name=a command="b c" env=A="x y" umask=022 timeout=5m\n\n0 1 * * * name=b command=c'
    ],
    "record": [json.dumps(RECORD), "\n".join(RECORD[key] for key in RECORD_KEYS)],
    "vixie": ["0 0 */2 * MON", "@daily", "5-59/15 22-23,0-5 1-7 jan-mar 5-7"],
    "quartz": ["0 0/5 14,18 ? * 6#3 2026-2028", "*/10 * 22-2 L-3 * ?", "0 0 0 15W,L NOV-FEB ?"],
    "aws": ["cron(0/30 20-2 ? * MON-FRI *)", "rate(5 minutes) from 2026-01-01T00:00", "at(2026-12-01T09:00:00)"],
    "rrule": [
        "DTSTART;TZID=Europe/Paris:20260105T023000 RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=WE,TH;COUNT=10",
        "DTSTART:20260105T090000Z\nRRULE:FREQ=MONTHLY;BYDAY=-1FR\nEXDATE;VALUE=DATE:20261225",
    ],
    "jenkins": ["H H(0-7) * * *", "TZ=Europe/Paris\nH/15 9-16/2 1,15 * 1-5", "@midnight"],
}


def seeds(target: str) -> list[str]:
    """Texts to start from: good ones, and those of the golden diagnostics."""
    known = [] if target in FOREIGN else [case.input for case in golden.read(target)]
    return [*GOOD[target], *(text for text in known if isinstance(text, str) and len(text) < 4_096)]
