"""No text of 64 KiB keeps a parser busy for longer than a tenth of a second, or breaks it.

The clock is that of the process, so that a busy machine does not matter much, and the best of three tries
counts. Most take 5 to 30 ms, a table of as many good lines as there is room for among them.
"""

import pytest

from kron.errors import KronError
from kron.language import parse
from kron.language.canonical import unparse
from kron.language.krontab import read_table
from kron.language.manifest import define
from kron.language.record import to_record, verify
from kron.timing.decision import decide
from kron.timing.period import Period
from tests.language.asking import kron
from tests.language.cpu_time import least_seconds

pytestmark = pytest.mark.slow
SIZE = 65_536
BOUND = 0.1  # seconds

MIDNIGHT = "0 0 * * *"
HEADS = {
    "nothing": "",
    "fields": f"{MIDNIGHT} ",
    "tz": f"{MIDNIGHT} @tz(",
    "win": f"{MIDNIGHT} @win(after,",
    "dist": f"{MIDNIGHT} @dist(skewLate,shape=",
    "seed": f"{MIDNIGHT} @seed(stable,salt=",
    "quoted": f'{MIDNIGHT} @seed(stable,salt="',
    "policy": f"{MIDNIGHT} @policy(",
    "only": f"{MIDNIGHT} @only(",
    "hours": f"{MIDNIGHT} @only(hours=",
    "command": f"{MIDNIGHT} name=a command=",
    "env": f"{MIDNIGHT} name=a command=b ",
}
FILLERS = [
    *',()"\\@019*/-=;#?LaéÉ１\ud800\0\n\r\t[{',
    *("1,", "1-", "-1", "*/", "*/5,", "1-2/3,", "MON,", "MON-", "A/", '\\"', '"a"', "@tz(", "salt=", "x=1,"),
    *("0s", "0s0s", "1.", "1.1h", ".5s", "µs", "hours=1;", "dow=MON;", "date=2026-01-01;", "between=00:00-00:01;"),
    *("a ", "1 ", "* ", "@ ", "@tz(UTC) ", "x=1 ", "env=A=b ", '"a" ', "\\ ", " ;", "x\n", "@ @\n", '"\n', "\r\n"),
    *(f"{MIDNIGHT} name=a command=b\n", '{"a":', '{"a":"\\u0061"},'),
]


def texts():
    for head in HEADS.values():
        for filler in FILLERS:
            for tail in ("", ")", '")'):
                room = SIZE - len(head) - len(tail)
                yield head + (filler * (room // len(filler) + 1))[:room] + tail


def seconds(parser, text):
    def read():
        try:
            parser(text)
        except KronError as error:
            str(error)

    return least_seconds(read, BOUND)


def defined(**fields):
    return define({"identity": "a", "schedule": MIDNIGHT, **fields})


RECORDED = to_record(decide(kron(MIDNIGHT), Period(0), "a"))
PARSERS = {
    "posix": lambda text: parse(text, dialect="posix"),
    "service": lambda text: parse(text, dialect="service"),
    "kron": lambda text: unparse(parse(text, dialect="kron")),
    "table": lambda text: [str(error) for error in read_table(text, "/t").errors[:3]],
    "zone": lambda text: parse(MIDNIGHT, dialect="posix", timezone=text),
    "json": verify,
    "record": lambda text: verify({**RECORDED, "schedule": text}),
    "identity": lambda text: verify({**RECORDED, "identity": text, "period_id": text}),
    "defined schedule": lambda text: define({"identity": "a", "schedule": text}),
    "defined salt": lambda text: defined(salt=text),
    "defined clauses": lambda text: defined(constraints={"only": text}),
    "defined duration": lambda text: defined(window_duration=text),
}
WHOLE = ("posix", "service", "kron", "table", "record", "defined schedule")  # these read modifiers and keys as well


@pytest.mark.parametrize("parser", PARSERS)
def test_every_nasty_text_is_answered_in_time(parser):
    slow = {}
    for text in texts() if parser in WHOLE else (text for text in texts() if not text.startswith(MIDNIGHT)):
        taken = seconds(PARSERS[parser], text)
        if taken > BOUND:
            slow[text[:40] + "…" + text[-5:]] = taken
    assert not slow


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("filler", [",", '"', "0s", "hours=1;", "x\n", f"{MIDNIGHT} name=a command=b\n"])
def test_the_nastiest_are_answered_in_time(parser, filler):
    for head in HEADS.values() if parser in WHOLE else [""]:
        text = head + filler * ((SIZE - len(head) - 1) // len(filler)) + ")"
        assert seconds(PARSERS[parser], text) < BOUND, f"{head}{filler}…"


LINES = {
    "good": "* * * * * name=a{} command=b",
    "modified": "* * * * * @tz(Europe/Paris) @win(after,{}s) @only(hours=1;dom=2) name=a{} command=b",
    "zone": "* * * * * @tz(America/Mexico_Cit{}) name=a command=b",
    "never": "* * 31 2,4,6,9,11 * name=a{} command=b",
    "key": "* * * * * nmae=a{} command=b",
    "twice": "* * * * * name=a command=b{}",
    "variables": "* * * * * name=a{} command=b env=A=1 env=B=2 env=C=3",
}


@pytest.mark.parametrize("first", LINES)
def test_a_table_of_many_lines_is_read_in_time(first):
    """Bad lines until there are too many of them, and good ones for the rest."""
    lines = [LINES[first].replace("{}", str(number)) for number in range(99)]
    lines += [LINES["good"].replace("{}", str(number)) for number in range(99, 3_000)]
    assert seconds(PARSERS["table"], "\n".join(lines)[:SIZE]) < BOUND


@pytest.mark.parametrize("kind", LINES)
def test_and_so_is_one_of_a_kind(kind):
    text = "\n".join(LINES[kind].replace("{}", str(number)) for number in range(3_000))
    assert seconds(PARSERS["table"], text[:SIZE]) < BOUND
