"""Forms of a schedule that go through every interface: the plus dialect, and texts of other schedulers."""

from datetime import timedelta
from typing import NamedTuple


class Form(NamedTuple):
    """A text of the plus dialect.

    Attributes:
        text: The text.
        zone: Time zone that is given separately; None if the text names its own.
        canonical: Canonical text of the schedule.
    """

    text: str
    zone: str | None
    canonical: str

    @property
    def whole(self):
        """The text with its time zone, for an interface that takes nothing but a text."""
        return self.text if self.zone is None else f"{self.text} @tz({self.zone})"


FORMS = [
    Form("0 9 L * *", "UTC", "0 9 L * *"),
    Form("0 9 L,15W * TUE#2,FRIL @days(match=both)", "UTC", "0 9 L,15W * TUE#2,FRIL @days(match=both)"),
    Form("0 9 * * TUE#2 @tz(Europe/Paris)", None, "0 9 * * TUE#2 @tz(Europe/Paris)"),
    Form("0 9 * * MON @days(every=2w,from=2026-01-05)", "UTC", "0 9 * * MON @days(every=2w,from=2026-01-05)"),
    Form(
        "0 9 * * wed,thu @days(every=2w,from=2026-01-05) @tz(Europe/Paris)",
        None,
        "0 9 * * WED,THU @tz(Europe/Paris) @days(every=2w,from=2026-01-05)",
    ),
    Form("30 2 * * * @dst(once)", "Europe/Paris", "30 2 * * * @tz(Europe/Paris) @dst(once)"),
    Form(
        "30 2 * * * @dst(once) @tz(Europe/Paris) @win(after,1h)",
        None,
        "30 2 * * * @tz(Europe/Paris) @win(after,1h) @dst(once)",
    ),
    Form(
        "30 2 * * * @dst(gap=shift) @tz(Europe/Paris) @win(after,1h)",
        None,
        "30 2 * * * @tz(Europe/Paris) @win(after,1h) @dst(gap=shift)",
    ),
    Form("at 2036-12-01T09:00", "UTC", "at 2036-12-01T09:00"),
    Form(
        "at 2036-12-01T09:00,2036-12-02T09:00Z @tz(Europe/Paris)",
        None,
        "at 2036-12-01T09:00,2036-12-02T09:00Z @tz(Europe/Paris)",
    ),
    Form("every 90m from 2026-01-01T00:00", "Asia/Tokyo", "every 1h30m from 2026-01-01T00:00 @tz(Asia/Tokyo)"),
    Form(
        "0 6 * * * @valid(from=2026-01-01T00:00,until=2036-01-01T00:00)",
        "UTC",
        "0 6 * * * @valid(from=2026-01-01T00:00,until=2036-01-01T00:00)",
    ),
    Form(
        "30 0 9 * * * @valid(from=2026-01-01T00:00,times=10) @win(after,1h)",
        "UTC",
        "30 0 9 * * * @win(after,1h) @valid(from=2026-01-01T00:00,times=10)",
    ),
]

# A text of another scheduler, its dialect, and the canonical text of its schedule.
FOREIGN_FORMS = [
    ("@daily", "vixie", "0 0 * * *"),
    ("0 0 9 ? * 6L", "quartz", "0 9 * * FRIL"),
    ("cron(0 9 ? * 2-6 *)", "aws", "0 9 * * MON-FRI"),
    ("DTSTART:20260105T090000Z RRULE:FREQ=WEEKLY;INTERVAL=2", "rrule", None),
    ("DTSTART;TZID=Europe/Paris:20260105T090000 RRULE:FREQ=DAILY", "rrule", None),
]

SOON = timedelta(seconds=3)


def forms_due_soon(moment):
    """Return the options of `Scheduler.add` for a schedule of each form that runs within seconds, by name."""
    return {
        "every": {"every": "1s"},
        "at": {"at": moment},
        "plus": {"schedule": "plus: * * * * * * @valid(from=2026-01-01T00:00)"},
        "rule": {"schedule": "plus: */2 * * * * * @tz(Europe/Paris) @dst(once)"},
        "days": {"schedule": "plus: * * * * * * @days(every=1d,from=2026-01-01)"},
        "quartz": {"schedule": "* * * * * ?", "dialect": "quartz"},
    }
