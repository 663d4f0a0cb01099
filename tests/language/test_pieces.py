"""Pieces of a schedule text: they are the text, each with its meaning."""

from itertools import pairwise

import pytest

from kron.language.options import Options
from kron.language.pieces import pieces
from kron.language.reading import read, zone_of
from tests.forms import FOREIGN_FORMS, FORMS

TEXTS = [
    ("30 17 * * MON-FRI @tz(Europe/Paris) @win(around,90m) @dist(normal) @avoid(date=2026-10-30)", "kron"),
    ("*/20 9-17 1,15 6 *  @win(after,1h) @seed(weekly) @only(hours=9-10) @avoid(dow=SUN) @policy(deadline=5m)", "kron"),
    ("0 9 * * 1-5", "posix"),
    ("*/30 * * * * *", "service"),
    ("5 */30 * * * 1", "service"),
    ("daily around 14:00", "fuzzy"),
    *((form.text, "plus") for form in FORMS),
    *((text, dialect) for text, dialect, _ in FOREIGN_FORMS),
]


def found(text, dialect, seconds="first"):
    options = Options(zone_of("UTC"), seconds=seconds, identity="job")
    return pieces(text, read(text, dialect, options).schedule, dialect=dialect, seconds=seconds)


@pytest.mark.parametrize(("text", "dialect"), TEXTS)
def test_pieces_are_the_whole_text_in_its_order(text, dialect):
    parts = found(text, dialect)
    assert [text[part.start : part.end] for part in parts] == [part.text for part in parts]
    between = [text[a.end : b.start] for a, b in pairwise(parts)]
    assert not "".join([text[: parts[0].start], *between, text[parts[-1].end :]]).strip()
    assert all(part.meaning and part.meaning.strip() == part.meaning for part in parts)


def meanings(text, dialect, seconds="first"):
    return {part.text: f"{part.name}: {part.meaning}" for part in found(text, dialect, seconds)}


def test_each_piece_has_its_own_meaning():
    assert meanings(*TEXTS[0]) == {
        "30": "minute: minute 30",
        "17": "hour: from 17:00 to 17:59",
        "*": "month: every month",
        "MON-FRI": "weekday: from Monday to Friday",
        "@tz(Europe/Paris)": "tz: in the time of Europe/Paris",
        "@win(around,90m)": "win: at a second from 45 minutes before to 45 minutes after",
        "@dist(normal)": "dist: mostly near the middle",
        "@avoid(date=2026-10-30)": "avoid: never on 2026-10-30",
    }
    more = meanings(*TEXTS[1])
    assert more["*/20"] == "minute: every 20 minutes"
    assert more["1,15"] == "day: on the 1st and 15th of the month"
    assert more["@only(hours=9-10)"] == "only: only from 09:00 to 10:59"
    assert more["@avoid(dow=SUN)"] == "avoid: never on Sunday"
    assert more["@seed(weekly)"] == "seed: drawn again each week"


def test_seconds_are_where_the_service_has_them():
    assert meanings("5 10 * * * *", "service")["5"] == "second: second 5"
    assert meanings("5 10 * * * 7", "service", "last")["7"] == "second: second 7"
