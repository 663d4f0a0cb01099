"""Placeholders as other tools spell them, and those that are none."""

import pytest

from kron.language.fault import Fault
from kron.language.sentences.placeholder import Around, Between, Daily, Fortnightly, Hourly, Weekly, read_placeholder


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("FUZZY:DAILY_AROUND:14:00 * * *", Daily(Around(840))),
        ("FUZZY:DAILY_AROUND:09:05 * * *", Daily(Around(545))),
        ("FUZZY:WEEKLY:1 * * *", Weekly(1)),
        ("FUZZY:WEEKLY_AROUND:1:9:0 * * *", Weekly(1, Around(540))),
        ("FUZZY:WEEKLY_BETWEEN:5:9:0:17:0 * * 5", Weekly(5, Between(540, 1020))),
        ("FUZZY:WEEKLY:AROUND:9:0 * * *", Weekly(None, Around(540))),
        ("FUZZY:WEEKLY:BETWEEN:9:0:17:0 * * *", Weekly(None, Between(540, 1020))),
        ("FUZZY:HOURLY/2 * * *", Hourly(2)),
        ("FUZZY:HOURLY_WEEKDAYS/2 * * *", Hourly(2, True)),
        ("FUZZY:BI_WEEKLY * * *", Fortnightly(2)),
        ("FUZZY:TRI_WEEKLY * * *", Fortnightly(3)),
        ("FUZZY:DAILY_WEEKDAYS * * 1-5", Daily(None, 1)),
    ],
)
def test_other_spellings_are_read_too(text, plan):
    assert read_placeholder(text) == plan


@pytest.mark.req("FUZZY-6.1-ENT-SCHED", "FUZZY-7.3-STEPS")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "0 9 * * 1",
        "daily",
        "FUZZY:",
        "FUZZY:MONTHLY * * *",
        "FUZZY:DAILY",
        "FUZZY:DAILY * *",
        "FUZZY:DAILY:1 * * *",
        "FUZZY:DAILY_AROUND * * *",
        "FUZZY:DAILY_AROUND:25:0 * * *",
        "FUZZY:DAILY_AROUND:9:60 * * *",
        "FUZZY:DAILY_AROUND:9:x * * *",
        "FUZZY:DAILY_AROUND:9:0:0 * * *",
        "FUZZY:DAILY_BETWEEN:9:0:9:0 * * *",
        "FUZZY:DAILY * * 1",
        "FUZZY:WEEKLY * * 1",
        "FUZZY:WEEKLY:7 * * *",
        "FUZZY:WEEKLY:1 * * 2",
        "FUZZY:WEEKLY:1:NEAR:9:0 * * 1",
        "FUZZY:WEEKLY:AROUND:9:0 * * 1",
        "FUZZY:WEEKLY:AROUND:9 * * *",
        "FUZZY:HOURLY:5 * * *",
        "FUZZY:HOURLY:2 * * 1",
        "FUZZY:BI-WEEKLY:2 * * *",
        "FUZZY:DAILY_WEEKDAYS * * 3-6",
        "FUZZY:DAILY * * *\n",
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(Fault) as caught:
        read_placeholder(text)
    assert caught.value.code == "UNKNOWN_PLACEHOLDER"
    assert caught.value.hint
