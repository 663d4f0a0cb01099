"""`kron next -o ics`: the calendar that people subscribe to."""

from icalendar import Calendar

from kron.timing.key import key_of
from kron.timing.zone import instant_of

AT = "--at=2026-01-01T00:00:00Z"


def events(kron, *args):
    return list(Calendar.from_ical(kron("next", *args, "-o", "ics", AT).out).walk("VEVENT"))


def test_calendar_has_an_event_for_every_run(kron):
    found = events(kron, "0 9 * * MON @tz(Europe/Paris)", "-n", "3")
    assert [event["DTSTART"].dt.isoformat() for event in found] == [
        "2026-01-05T08:00:00+00:00",
        "2026-01-12T08:00:00+00:00",
        "2026-01-19T08:00:00+00:00",
    ]
    assert str(found[0]["UID"]) == key_of("-", instant_of("2026-01-05T08:00:00Z"))


def test_uids_are_the_same_at_the_next_download(kron):
    first, second = (events(kron, "0 9 * * * @win(after,3h)", "--identity", "a", "-n", "40") for _ in range(2))
    assert [event["UID"] for event in first] == [event["UID"] for event in second]
    assert len({str(event["UID"]) for event in first}) == 40


def test_long_and_odd_names_survive(kron, tmp_path):
    name = "report/" + "a" * 100
    table = tmp_path / "krontab"
    table.write_text(f"0 9 * * * @tz(Europe/Paris) name={name} command=true\n", encoding="utf-8")
    (event,) = events(kron, "-f", str(table), "-n", "1")
    assert str(event["SUMMARY"]) == name


def test_at_most_a_thousand_events(kron):
    answer = kron("next", "* * * * *", "-n", "1001", "-o", "ics", AT)
    assert answer.out.count("BEGIN:VEVENT") == 1_000
    assert "first 1000 of 1001 runs" in answer.err
