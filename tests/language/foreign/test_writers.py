"""Writers: what is written is read back to the same runs, and what cannot be written is named."""

from itertools import islice
from random import Random

import pytest

from kron.errors import InvalidSchedule
from kron.language import parse
from kron.language.dialect import TABLE
from kron.language.foreign import WRITERS
from kron.language.foreign.aws import SKIP_FIRST
from kron.language.foreign.aws_text import start_date
from kron.language.foreign.rrule import SHIFT_FIRST
from kron.language.plus import terms_of, with_days
from kron.timing.period import next_nominal, nominals
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import HOURS, MINUTES, MONTH_DAYS, WEEK, YEAR, Cron, possible
from kron.timing.schedule.days import Days
from kron.timing.schedule.dst import AFTER_FIRST, ONCE, WALL
from kron.timing.schedule.head import Every, Moment, Moments
from kron.timing.schedule.terms import ALWAYS, Valid
from kron.timing.zone import EARLIEST, instant_of, zone

ZONES = ("UTC", "UTC", "Europe/Paris", "Australia/Lord_Howe", "Asia/Kolkata")
START = instant_of("2026-01-01T00:00:00Z")
AFTER = [instant_of(f"2026-{date}T00:00:00Z") for date in ("01-01", "03-28", "04-04", "10-24")]


def random_set(random, size, everything):
    kind = random.random()
    if kind < 0.3:
        return everything
    if kind < 0.5:
        return sum(1 << n for n in range(0, size, random.choice([2, 3, 5, 7])))
    return sum(1 << n for n in random.sample(range(size), random.choice([1, 1, 1, 2, 4])))


def random_cron(random):
    """A cron line with random fields and a random rule for days."""
    any_day, any_weekday = random.random() < 0.6, random.random() < 0.6
    days = MONTH_DAYS if any_day else random_set(random, 31, MONTH_DAYS)
    weekdays = WEEK if any_weekday else random_set(random, 7, WEEK)
    minutes, hours = random_set(random, 60, MINUTES), random_set(random, 24, HOURS)
    seconds = random_set(random, 60, MINUTES) if random.random() < 0.1 else 1
    base = Cron(minutes, hours, days, random_set(random, 12, YEAR), weekdays, any_day, any_weekday, seconds)
    rule, empty = {}, {}
    if not any_day and random.random() < 0.4:
        rule, empty = (
            random.choice([{"last": 1}, {"last": 5}, {"near": 1}, {"near": 1 << 14}, {"last_weekday": True}]),
            {"days": 0},
        )
    elif not any_weekday and random.random() < 0.4:
        rule, empty = (
            random.choice([{"nth": 1 << 9}, {"last_of": 1 << 5}, {"nth": 1 << 9, "last_of": 2}]),
            {"weekdays": 0},
        )
    if random.random() < 0.2:
        weeks = random.random() < 0.5
        rule = {**rule, "every": random.choice([2, 3, 14]), "weeks": weeks, "start": 20_000 + random.randrange(500)}
    return with_days(base, Days(both=random.random() < 0.5, **rule), **empty)


def random_schedule(random):
    """A schedule with at least one run, of any head."""
    while True:
        kind = random.random()
        if kind < 0.8:
            head = random_cron(random)
            if not possible(head):
                continue
        elif kind < 0.9:
            anchor = Moment(START + random.randrange(10**6), random.random() < 0.5)
            head = Every(random.choice([30, 60, 300, 420, 3_600, 5_400, 7_200, 18_000, 86_400, 604_800]), anchor)
        else:
            moments = {
                Moment(START + random.randrange(10**8), random.random() < 0.5) for _ in range(random.choice([1, 1, 2]))
            }
            head = Moments(tuple(sorted(moments)))
        dst = random.choice([WALL, WALL, AFTER_FIRST, SKIP_FIRST, SHIFT_FIRST, ONCE])
        terms = terms_of(head, dst if isinstance(head, Cron) else AFTER_FIRST, random_validity(random, head))
        schedule = Schedule(head, zone(random.choice(ZONES)), terms=terms)
        if next_nominal(schedule, EARLIEST) is not None:
            return schedule


def random_validity(random, head):
    kind = random.random()
    if kind < 0.6:
        return ALWAYS
    start = Moment(START + random.randrange(10**7), random.random() < 0.3)
    if kind < 0.7:
        return Valid(Moment(START), Moment(instant_of("2028-01-01T00:00:00Z") - 1))
    if kind < 0.8:
        return Valid(start, Moment(start.second + random.randrange(10**8), random.random() < 0.3))
    return Valid(start, times=random.choice([1, 7, 100])) if kind < 0.9 else Valid(start)


@pytest.mark.parametrize("form", ["posix", "quartz", "aws", "rrule"])
def test_what_is_written_is_read_back_to_the_same_runs(form):
    random, written = Random(form), 0
    for _ in range(600):
        schedule = random_schedule(random)
        try:
            text = WRITERS[form](schedule)
        except InvalidSchedule as error:
            assert error.code == ("NOT_POSIX" if form == "posix" else "NOT_SAYABLE")
            assert "it would lose" in error.message
            continue
        written += 1
        if text.startswith("rate("):
            text += f" from {start_date(schedule)}"
        again = parse(text, dialect=form, timezone=schedule.zone.name)
        for after in AFTER:
            runs, runs_again = (list(islice(nominals(each, after), 50)) for each in (schedule, again))
            assert runs == runs_again, (text, schedule)
    assert written > 50


@pytest.mark.parametrize(
    ("text", "form", "loss"),
    [
        ("0 9 * * * @win(after,1h)", "quartz", "the window (@win)"),
        ("0 9 * * * @win(after,1h) @dist(normal)", "aws", "the window (@win), the distribution (@dist)"),
        ("0 9 * * * @seed(daily)", "rrule", "the seed (@seed)"),
        ("0 9 * * * @policy(deadline=1h)", "quartz", "the policy (@policy)"),
        ("0 9 * * * @only(dow=MON)", "rrule", "the constraints (@only, @avoid)"),
        ("0 9 * * * @avoid(dates=2026-12-24..2026-12-31)", "rrule", "the constraints (@only, @avoid)"),
        ("0 9 1 * MON", "quartz", "one of the two day fields"),
        ("0 9 1 * MON", "rrule", "one of the two day fields, of which either is enough"),
        ("0 9 L,15 * *", "quartz", "a list with L, W or #"),
        ("0 9 15W * *", "rrule", "the nearest weekday (W)"),
        ("0 9 * * * @days(every=2d,from=2026-01-05)", "aws", "the interval of days or weeks (@days)"),
        ("0 9 * * * @valid(from=2026-01-05T00:00)", "quartz", "the validity (@valid)"),
        ("30 0 9 * * *", "aws", "the seconds"),
        ("every 90m from 2026-01-01T00:00", "quartz", "the interval of elapsed time"),
        ("every 30s from 2026-01-01T00:00", "aws", "seconds of the interval"),
        ("every 1h from 2026-01-01T00:00 @tz(Europe/Paris)", "rrule", "elapsed time at clock changes"),
        ("at 2026-01-01T00:00,2026-01-02T00:00", "rrule", "all moments but one"),
        ("30 2 * * * @tz(Europe/Paris) @dst(once)", "quartz", "the rule for clock changes (@dst)"),
        ("every 90m from 2026-01-01T00:00 @tz(Europe/Paris)", "rrule", "elapsed time at clock changes"),
        ("30 2 * * * @tz(Europe/Paris)", "quartz", "the rule for clock changes (@dst)"),
        ("30 2 * * * @tz(Europe/Paris)", "aws", "the rule for clock changes (@dst)"),
    ],
)
def test_what_would_be_lost_is_named(text, form, loss):
    with pytest.raises(InvalidSchedule) as caught:
        WRITERS[form](parse(text, dialect="plus"))
    assert (caught.value.code, caught.value.message.partition("it would lose ")[2]) == ("NOT_SAYABLE", loss)


@pytest.mark.parametrize(
    ("text", "form", "written"),
    [
        ("*/15 9-17 * * MON-FRI", "quartz", "0 */15 9-17 ? * MON-FRI"),
        ("0 9 * * FRI#3", "quartz", "0 0 9 ? * FRI#3"),
        ("0 9 1 JAN * @valid(from=2026-01-01T00:00,until=2027-12-31T23:59:59)", "quartz", "0 0 9 1 JAN ? 2026-2027"),
        ("at 2026-12-01T09:00 @tz(Europe/Paris)", "quartz", "0 0 9 1 12 ? 2026"),
        ("0 9 LW * * @tz(Europe/Paris)", "aws", "cron(0 9 LW * ? *)"),
        ("every 90m from 2026-01-01T00:00", "aws", "rate(90 minutes)"),
        ("at 2026-12-01T09:00Z @tz(Europe/Paris)", "aws", "at(2026-12-01T10:00:00)"),
        ("0 9 * * *", "rrule", "DTSTART:19700101T090000Z\nRRULE:FREQ=DAILY"),
        (
            "0 9 * * WED,THU @tz(Europe/Paris) @days(every=2w,from=2026-01-05) @valid(from=2026-01-05T00:00,times=10)",
            "rrule",
            "DTSTART;TZID=Europe/Paris:20260107T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;WKST=MO;BYDAY=WE,TH;COUNT=10",
        ),
        (
            "0 18 LW * * @avoid(date=2026-12-31) @valid(from=2026-01-01T00:00)",
            "rrule",
            "DTSTART:20260130T180000Z\nRRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1\nEXDATE;VALUE=DATE:20261231",
        ),
    ],
)
def test_a_schedule_is_written_as_usual(text, form, written):
    assert WRITERS[form](parse(text, dialect="plus")) == written


def test_the_hint_names_the_rule_for_clock_changes():
    with pytest.raises(InvalidSchedule) as caught:
        WRITERS["quartz"](parse("30 2 * * * @tz(Europe/Paris)", dialect="kron"))
    assert caught.value.hint.startswith("write @dst(fold=last), ")
    with_rule = parse("30 2 * * * @tz(Europe/Paris) @dst(fold=last)", dialect="plus")
    assert WRITERS["quartz"](with_rule) == "0 30 2 * * ?"


def test_every_form_that_is_written_can_be_read():
    assert set(WRITERS) <= set(TABLE)
