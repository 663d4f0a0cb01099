"""The words of the grammars, good and bad: what a fuzzer puts together, and the texts that it starts from."""

import json

from tests.fuzz.targets import QUESTION, RECORD
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
    *("description=", "/tmp", "A=b"),
]
JSON = ["{", "}", "[", "]", '":"', "null", "1e999", "\\ud800", "2026-03-01T10:00:00Z", *(f'"{key}"' for key in RECORD)]

WORDS = {
    "posix": FIELDS + SIGNS,
    "service": FIELDS + SIGNS,
    "kron": ["0 0 * * * ", *FIELDS, *SIGNS, *MODIFIERS],
    "table": ["0 0 * * * ", "name=a ", "command=b ", *FIELDS, *SIGNS, *MODIFIERS, *KEYS],
    "record": ["0 0 * * * ", *FIELDS, *SIGNS, *MODIFIERS, *JSON],
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
    "record": [json.dumps(RECORD), "\n".join(RECORD[key] for key in QUESTION)],
}


def seeds(target: str) -> list[str]:
    """Texts to start from: good ones, and those of the golden diagnostics."""
    known = [case.input for case in golden.read("record" if target == "record" else target)]
    return [*GOOD[target], *(text for text in known if isinstance(text, str) and len(text) < 4_096)]
