"""Times in words: forms, times that occur twice, and instants in sentences of Kron."""

import pytest

from kron.apps.dashboard.time_text import Form, local_text, utc_offset_text, with_times
from kron.timing.zone import instant_of, zone

NOW = instant_of("2026-10-24T12:00:00Z") * 1000


def paris(text, form):
    return local_text(instant_of(text) * 1000, NOW, zone("Europe/Paris"), form)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "UTC+0"), (7_200, "UTC+2"), (-12_600, "UTC−3:30"), (20_700, "UTC+5:45")]
)
def test_offset_in_words(seconds, text):
    assert utc_offset_text(seconds) == text


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        ("2026-10-24T13:00:05Z", "Today 15:00:05"),
        ("2026-10-24T22:30:09Z", "Tomorrow 00:30:09"),
        ("2026-10-23T13:00:00Z", "Fri 23 Oct, 15:00:00"),
        ("2026-10-26T13:00:01Z", "Mon 26 Oct, 14:00:01"),
        ("2027-01-01T13:00:00Z", "Fri 1 Jan 2027, 14:00:00"),
    ],
)
def test_next_run_is_told_to_the_second(instant, text):
    assert paris(instant, Form.SECOND) == text


@pytest.mark.parametrize("form", [Form.CLOCK, Form.NEAR, Form.SECOND, Form.FULL])
def test_time_that_occurs_twice_has_its_offset(form):
    """Otherwise the second 02:07 of that night looks like a time before the first 02:30."""
    first, second = (paris(text, form) for text in ("2026-10-25T00:07:12Z", "2026-10-25T01:07:12Z"))
    assert first.endswith(" UTC+2") and second.endswith(" UTC+1")
    assert first.removesuffix(" UTC+2") == second.removesuffix(" UTC+1")
    for instant in ("2026-10-24T23:59:59Z", "2026-10-25T02:00:00Z", "2027-03-28T00:59:59Z", "2027-03-28T01:00:00Z"):
        assert "UTC" not in paris(instant, form)


def test_instants_of_a_sentence_become_elements_and_the_rest_is_escaped():
    text = "paused by <b>, 2026-10-19T16:05:40Z until 2026-10-27T08:00:00Z: at 2026-02-30T00:00:00Z & 2026-10-19"
    times = []
    shown = with_times(text, lambda at: times.append(at) or "[time]")
    assert shown == "paused by &lt;b&gt;, [time] until [time]: at 2026-02-30T00:00:00Z &amp; 2026-10-19"
    assert times == [instant_of(each) * 1000 for each in ("2026-10-19T16:05:40Z", "2026-10-27T08:00:00Z")]
