"""The aws reader: clock changes, and what it refuses."""

import pytest

from kron.errors import LanguageError
from kron.language import parse
from kron.language.canonical import canonical
from kron.timing.period import count_nominals
from kron.timing.zone import instant_of
from tests.language.asking import refusal


def test_a_time_in_a_gap_is_skipped_and_one_in_a_fold_runs_once():
    schedule = parse("cron(30 2 * * ? *)", dialect="aws", timezone="Europe/Paris")
    assert canonical(schedule).text == "30 2 * * * @tz(Europe/Paris) @dst(fold=first)"
    spring = instant_of("2026-03-28T12:00:00Z"), instant_of("2026-03-29T12:00:00Z")
    autumn = instant_of("2026-10-24T12:00:00Z"), instant_of("2026-10-25T12:00:00Z")
    assert [count_nominals(schedule, *night) for night in (spring, autumn)] == [0, 1]


def test_a_rate_without_a_start_is_refused_with_the_text_to_write():
    with pytest.raises(LanguageError) as caught:
        parse("rate(90 minutes)", dialect="aws")
    assert caught.value.code == "NO_ANCHOR"
    assert "write every 1h30m from 2026-01-01T00:00" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("cron(0 10 * * * *)", "QUESTION_MARK", "* * *"),
        ("cron(0 10 * * ?)", "FIELD_COUNT", ")"),
        ("cron(0 10 * * ? * *)", "FIELD_COUNT", "*"),
        ("cron(0 10 * * ? *) daily", "UNEXPECTED_TOKEN", "daily"),
        ("cron(0 10 ? * 0 *)", "OUT_OF_RANGE", "0"),
        ("cron(0 10 * * ? 2200)", "OUT_OF_RANGE", "2200"),
        ("cron(0 10 * * ? 2026,2028)", "NOT_SAYABLE", "2026,2028"),
        ("0 10 * * ? *", "NOT_A_SCHEDULE", "0 10 * * ? *"),
        ("rate(1 hours) from 2026-01-01T00:00", "BAD_DURATION", "1 hours"),
        ("rate(5 minute) from 2026-01-01T00:00", "BAD_DURATION", "5 minute"),
        ("rate(0 minutes) from 2026-01-01T00:00", "BAD_DURATION", "0 minutes"),
        ("rate(999999999 days) from 2026-01-01T00:00", "BAD_DURATION", "999999999 days"),
        ("rate(5 minutes) from 2026-01-01", "BAD_MOMENT", "2026-01-01"),
        ("at(2026-12-01)", "BAD_MOMENT", "2026-12-01"),
        ("at(2026-12-01T09:00:00Z)", "BAD_MOMENT", "2026-12-01T09:00:00Z"),
        ("at()", "BAD_MOMENT", ")"),
    ],
)
def test_other_texts_are_refused(text, code, part):
    assert refusal(text, "aws") == (code, part)
