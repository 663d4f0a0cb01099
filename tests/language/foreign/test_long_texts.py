"""Long texts: every reader refuses 65,536 characters within 100 ms of CPU time, and with a Fault only."""

from functools import partial

import pytest

from kron.language.dialect import TABLE
from kron.language.fault import Fault
from kron.language.options import Options
from kron.language.tokens import MAX_TEXT_LENGTH
from tests.language.cpu_time import least_seconds

LIMIT = 0.1  # seconds
PIECES = [
    *(
        "a",
        "0",
        "*",
        " ",
        "\n",
        "* ",
        "1,",
        "1-",
        "/",
        "*/",
        "(",
        "H",
        "H,",
        "H(0-",
        "?",
        "L,",
        "L-",
        "1W,",
        "1#1,",
        "@",
    ),
    *(
        ":",
        ";",
        "=",
        "FREQ=",
        "DTSTART:",
        "EXDATE:20260101 ",
        "MO,",
        "-1FR,",
        "1MO,2MO,",
        "é",
        "\ud800",
        "\0",
        "TZ=",
        "#",
    ),
    *("20260101,", "cron(", "cron(* ", "rate(1 ", ")", "9" * 50 + ","),
]
FRAMES = {
    "vixie": ["{} * * * *", "0 0 {} * MON"],
    "quartz": ["0 0 0 {} * ?", "0 0 0 ? * {}", "{} 0 0 1 * ?", "0 0 0 1 * ? {}"],
    "aws": ["cron(0 0 {} * ? *)", "cron({} 0 1 * ? *)", "rate({})", "at({})", "rate(5 minutes) from {}"],
    "rrule": [
        "DTSTART:20260101T000000 RRULE:FREQ=DAILY;BYHOUR={}",
        "DTSTART:20260101T000000 RRULE:FREQ=MONTHLY;BYDAY={}",
        "DTSTART:20260101T000000 RRULE:FREQ=DAILY EXDATE;VALUE=DATE:{}",
        "DTSTART;TZID={}:20260101T000000 RRULE:FREQ=DAILY",
        "DTSTART:20260101T000000 RRULE:{}",
    ],
    "jenkins": ["{} * * * *", "TZ={}\n0 0 * * *", "H({}-3) * * * *"],
    "plus": ["at {}", "every 5m from {}", "0 9 {} * *", "0 9 * * {}", "0 9 * * * @days({})", "0 9 * * * @valid({})"],
    "placeholder": ["FUZZY:{} * * *", "FUZZY:DAILY:{} * * *"],
}


def read(reader, text):
    """Read a text; a reader can also accept it."""
    try:
        reader(text, Options(identity="identity"))
    except Fault as fault:
        assert fault.code
        assert fault.message
        assert fault.hint
        assert 0 <= fault.start <= fault.end <= len(text) + 1


@pytest.mark.parametrize("dialect", FRAMES)
def test_a_long_text_is_refused_at_once(dialect):
    slow = []
    for frame in ["{}", *FRAMES[dialect]]:
        for piece in PIECES:
            room = MAX_TEXT_LENGTH - len(frame) + 2
            text = frame.replace("{}", (piece * (room // len(piece) + 1))[:room])
            if least_seconds(partial(read, TABLE[dialect].read, text), LIMIT) > LIMIT:
                slow.append((frame, piece))
    assert slow == []
