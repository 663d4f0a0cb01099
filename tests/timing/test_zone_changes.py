"""Two tz databases compared: 2025b and 2026f, as their wheels have them."""

import zipfile
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from kron.timing.tzdata import folder_database
from kron.timing.zone import instant_of, rfc3339, zone_in
from kron.timing.zone_changes import Span, differing_spans, zone_changes

DATA = Path(__file__).parents[1] / "data"
OLD, NEW = (
    folder_database(zipfile.Path(DATA / f"tzdata-{version}.whl", "tzdata/zoneinfo/")) for version in ("2025b", "2026f")
)
START, END = instant_of("2026-11-17T00:00:00Z"), instant_of("2028-11-17T00:00:00Z")
EXPECTED = [
    ("Africa/Casablanca", (), "2026-11-17T00:00:00Z", 3600, 0),
    ("Africa/El_Aaiun", (), "2026-11-17T00:00:00Z", 3600, 0),
    ("America/Edmonton", ("America/Yellowknife", "Canada/Mountain"), "2026-11-17T00:00:00Z", -25_200, -21_600),
    ("America/Havana", ("Cuba",), "2026-11-17T00:00:00Z", -18_000, -14_400),
    ("America/Inuvik", (), "2026-11-17T00:00:00Z", -25_200, -21_600),
    ("America/Vancouver", ("Canada/Pacific",), "2026-11-17T00:00:00Z", -28_800, -25_200),
    ("America/Winnipeg", ("America/Rainy_River", "Canada/Central"), "2026-11-17T00:00:00Z", -21_600, -18_000),
    ("Europe/Chisinau", ("Europe/Tiraspol",), "2027-03-28T00:00:00Z", 10_800, 7_200),
]


def changes(start=START, end=END):
    return zone_changes(OLD, NEW, sorted(OLD.names() & NEW.names()), start, end)


def test_changes_of_two_years_are_the_frozen_list():
    found = [(c.name, c.links, rfc3339(c.first.start), c.first.old_offset, c.first.new_offset) for c in changes()]
    assert found == EXPECTED
    assert sum(1 + len(links) for _, links, *_ in found) == 15


def test_changes_of_the_past_are_not_listed_for_the_future():
    tehran = {c.name for c in changes(instant_of("1935-01-01T00:00:00Z"), instant_of("1980-01-01T00:00:00Z"))}
    assert tehran - {name for name, *_ in EXPECTED}


def test_database_does_not_differ_from_itself():
    assert zone_changes(NEW, NEW, sorted(NEW.names()), START, END) == []


@pytest.mark.parametrize("name", ["America/Vancouver", "Africa/Casablanca", "America/Havana", "Europe/Berlin", "UTC"])
def test_spans_are_exactly_where_the_offsets_differ(name):
    old, new = zone_in(OLD, name), zone_in(NEW, name)
    spans = list(differing_spans(old, new, START, END))
    assert all(span.start < span.end and span.old_offset != span.new_offset for span in spans)
    assert all(one.end <= two.start for one, two in pairwise(spans))
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    for t in range(START, END, 1800):
        time = epoch + timedelta(seconds=t)
        offsets = [time.astimezone(zone.rules).utcoffset() for zone in (old, new)]
        assert any(span.start <= t < span.end for span in spans) == (offsets[0] != offsets[1])


def test_spans_of_vancouver_are_the_winters():
    old, new = zone_in(OLD, "America/Vancouver"), zone_in(NEW, "America/Vancouver")
    assert list(differing_spans(old, new, START, END)) == [
        Span(START, instant_of("2027-03-14T10:00:00Z"), -28_800, -25_200),
        Span(instant_of("2027-11-07T09:00:00Z"), instant_of("2028-03-12T10:00:00Z"), -28_800, -25_200),
        Span(instant_of("2028-11-05T09:00:00Z"), END, -28_800, -25_200),
    ]


def test_links_are_those_that_the_database_lists(tmp_path):
    assert {"Canada/Pacific", "Cuba", "UTC"} <= NEW.links()
    assert "America/Vancouver" not in NEW.links()
    assert folder_database(tmp_path).links() == frozenset()
