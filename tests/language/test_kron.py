"""Kron's own dialect: the shape of a text and its cron part, clause by clause of its syntax document."""

import pytest

from kron.errors import LanguageError
from kron.language import parse
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import Overlap, Policy
from kron.timing.schedule.sampling import Seed, SkewLate, Strategy
from kron.timing.schedule.window import SECOND, Mode, Window
from kron.timing.zone import UTC_ZONE, zone
from tests.language.asking import kron, modified, numbers, refusal

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


@pytest.mark.req("KSYN-GRAM-CANON")
def test_the_canonical_form_has_a_cron_and_all_seven_modifiers():
    schedule = kron(
        "0 10 * * * @tz(Europe/Paris) @win(around,90m) @dist(skewLate,shape=2.5) @seed(daily,salt=msgs)"
        " @policy(concurrency=replace,deadline=10m,suspend=true) @avoid(dow=SAT) @only(hours=8-18)"
    )
    assert schedule.cron == kron("0 10 * * *").cron
    assert schedule.zone is zone("Europe/Paris")
    assert schedule.window == Window(Mode.AROUND, 90 * MINUTE)
    assert schedule.distribution == SkewLate(2.5)
    assert schedule.seed == Seed(Strategy.DAILY, "msgs")
    assert schedule.policy == Policy(Overlap.REPLACE, 10 * MINUTE, suspend=True)
    assert numbers(schedule.constraints.avoid.dow) == [6]
    assert numbers(schedule.constraints.only.hours) == list(range(8, 19))


@pytest.mark.req("KSYN-GRAM-CANON")
@pytest.mark.parametrize("name", ["tz", "win", "dist", "seed", "policy", "avoid", "only"])
def test_a_modifier_comes_once_with_something_in_its_parentheses(name):
    assert refusal(f"0 0 * * * @{name}()") == ("EMPTY_MODIFIER", f"@{name}()")
    assert refusal(f"0 0 * * * @{name}") == ("MALFORMED_MODIFIER", f"@{name}")
    assert refusal(f"@{name}(x) 0 0 * * *") == ("MODIFIER_FIRST", f"@{name}(x)")
    assert refusal(f"0 0 * * * @{name}(x) @{name}(x)") == ("DUPLICATE_MODIFIER", f"@{name}(x)")


@pytest.mark.req("KSYN-GRAM-WS")
def test_whitespace_separates_and_has_no_place_inside_parentheses():
    assert modified("\t @win(after,2h)  @tz(GMT) ") == modified("@win(after,2h) @tz(GMT)")
    assert refusal("0 0 * * * @win(after, 2h)") == ("UNESCAPED_SPACE", " ")
    assert refusal("0 0 * * * @win(after,2h) @tz( UTC)") == ("UNESCAPED_SPACE", " ")
    assert refusal("0 0 * * * @only(hours=8 ; dow=MON)") == ("UNESCAPED_SPACE", " ")
    assert refusal("0 0 * * * @seed(stable,salt=a\u2003b)") == ("UNESCAPED_SPACE", "\u2003")
    assert refusal("0 0 * * * @win(after,2h)@tz(GMT)")[0] == "MALFORMED_MODIFIER"
    assert refusal("0 0 * * *@tz(GMT)")[0] == "NOT_A_NUMBER"


@pytest.mark.req("KSYN-GRAM-WS")
def test_whitespace_that_is_quoted_or_escaped_is_welcome():
    tight = modified("@only(hours=8;dow=MON)")
    assert modified('@only("hours=8 ; dow=MON")') == tight
    assert modified('@only("hours=8";"dow=MON")') == tight
    assert modified(r"@only(hours=8\ ;\ dow=MON)") == tight
    assert modified(r"@seed(stable,salt=a\ b)").seed.salt == "a b"


@pytest.mark.req("KSYN-GRAM-UNKNOWN")
@pytest.mark.parametrize("name", ["foo", "TZ", "tzz", "t", "timezone", "window", "dist2", "", "öffnung"])
def test_there_are_no_other_modifiers(name):
    assert refusal(f"0 0 * * * @{name}(x)") == ("UNKNOWN_MODIFIER", f"@{name}")


@pytest.mark.req("KSYN-CRON-5")
def test_the_cron_part_has_five_fields_minute_hour_day_month_weekday():
    cron = kron("1 2 3 4 5").cron
    assert [numbers(cron.minutes), numbers(cron.hours)] == [[1], [2]]
    assert [numbers(cron.days, 1), numbers(cron.months, 1), numbers(cron.weekdays)] == [[3], [4], [5]]
    for text in ("* * * *", "* * * * * *", "* * * * @tz(UTC)", "* * * * * * @tz(UTC)"):
        assert refusal(text)[0] == "FIELD_COUNT"


@pytest.mark.req("KSYN-CRON-STAR")
def test_a_star_is_every_value():
    cron = kron("* * * * *").cron
    assert numbers(cron.minutes) == list(range(60))
    assert numbers(cron.hours) == list(range(24))
    assert numbers(cron.days, 1) == list(range(1, 32))
    assert numbers(cron.months, 1) == list(range(1, 13))
    assert numbers(cron.weekdays) == list(range(7))


def minutes(field):
    return numbers(kron(f"{field} * * * *").cron.minutes)


@pytest.mark.req("KSYN-CRON-N")
def test_a_number_is_itself():
    for number in range(60):
        assert minutes(number) == [number]


@pytest.mark.req("KSYN-CRON-RANGE")
def test_a_range_holds_both_ends():
    assert minutes("10-13") == [10, 11, 12, 13]
    assert minutes("7-7") == [7]
    assert refusal("13-10 * * * *") == ("REVERSED_RANGE", "13-10")


@pytest.mark.req("KSYN-CRON-LIST")
def test_a_list_holds_each_of_its_elements():
    assert minutes("5,1,9") == [1, 5, 9]
    assert minutes("1-3,20,*/30,2-2") == [0, 1, 2, 3, 20, 30]


@pytest.mark.req("KSYN-CRON-STEP")
def test_a_step_starts_at_the_lowest_value():
    assert minutes("*/5") == list(range(0, 60, 5))
    assert minutes("*/7") == list(range(0, 60, 7))
    assert minutes("*/1") == list(range(60))
    assert minutes("*/99999999999999999999") == [0]
    assert numbers(kron("0 0 */14 * *").cron.days, 1) == [1, 15, 29]
    assert numbers(kron("0 0 1 */5 *").cron.months, 1) == [1, 6, 11]
    for step in ("*/0", "*/", "*/x", "*/-5", "*/1.5", "*/\u0665"):
        assert refusal(f"{step} * * * *")[0] in ("BAD_STEP", "BAD_CHARACTER")
    assert refusal("5/15 * * * *") == ("STEP_NEEDS_RANGE", "5/15")


@pytest.mark.req("KSYN-CRON-RANGESTEP")
def test_a_stepped_range_stays_inside_its_range():
    assert minutes("10-30/10") == [10, 20, 30]
    assert minutes("10-29/10") == [10, 20]
    assert minutes("10-12/50") == [10]
    assert numbers(kron("0 0 * * MON-FRI/2").cron.weekdays) == [1, 3, 5]


@pytest.mark.req("KSYN-CRON-MONTHNAMES")
def test_months_have_names():
    names = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
    for number, name in enumerate(names, 1):
        for written in (name, name.lower(), name.title()):
            assert kron(f"0 0 1 {written} *") == kron(f"0 0 1 {number} *")
    assert numbers(kron("0 0 1 FEB-apr,Dec *").cron.months, 1) == [2, 3, 4, 12]
    assert refusal("0 0 1 \u017fEP *") == ("BAD_CHARACTER", "\u017f")
    assert refusal("JAN 0 1 * *") == ("UNKNOWN_NAME", "JAN")


@pytest.mark.req("KSYN-CRON-DAYNAMES")
def test_weekdays_have_names_in_ranges_too():
    for number, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]):
        for written in (name, name.lower(), name.title()):
            assert kron(f"0 0 * * {written}") == kron(f"0 0 * * {number}")
    assert kron("0 0 * * MON-FRI") == kron("0 0 * * 1-5")
    assert numbers(kron("0 0 * * sun,Tue-Thu").cron.weekdays) == [0, 2, 3, 4]
    for name in ("MONDAY", "MO", "MUN", "JAN"):
        assert refusal(f"0 0 * * {name}") == ("UNKNOWN_NAME", name)
    assert refusal("0 0 * * fr\u0131") == ("BAD_CHARACTER", "\u0131")


@pytest.mark.req("KSYN-CRON-DOW")
def test_weekdays_are_0_to_6_with_0_for_sunday():
    assert kron("0 0 * * 0") == kron("0 0 * * SUN")
    assert kron("0 0 * * 6") == kron("0 0 * * SAT")
    assert refusal("0 0 * * 7") == ("OUT_OF_RANGE", "7")
    assert refusal("0 0 * * 5-7") == ("OUT_OF_RANGE", "7")


@pytest.mark.req("KSYN-VAL-CRON")
@pytest.mark.parametrize("days", ["30 2", "31 2", "30,31 FEB", "31 2,4,6,9,11", "31 4-4"])
def test_a_cron_that_never_occurs_is_refused(days):
    assert refusal(f"0 0 {days} *") == ("NEVER", days)
    assert refusal(f"0 0 {days} * @tz(Asia/Tokyo)") == ("NEVER", days)
    assert parse(f"0 0 {days} *", dialect="service").zone is UTC_ZONE


@pytest.mark.req("KSYN-VAL-CRON")
def test_a_leap_day_occurs_and_so_does_a_day_or_a_weekday():
    assert kron("0 0 29 2 *").cron.after(0) == 789 * 86_400  # 1972-02-29
    assert kron("0 0 30 2 MON")
    with pytest.raises(LanguageError):
        kron("60 0 * * *")


@pytest.mark.req("KSPEC-TERM-SCHEDULE")
def test_a_schedule_is_a_cron_in_a_zone():
    paris, tokyo = kron("0 10 * * * @tz(Europe/Paris)"), kron("0 10 * * * @tz(Asia/Tokyo)")
    assert paris.cron == tokyo.cron
    assert paris != tokyo
    assert Schedule(paris.cron, zone("Asia/Tokyo")) == tokyo
    assert paris.zone.first_after(paris.cron.after, 0) != tokyo.zone.first_after(tokyo.cron.after, 0)


def test_what_is_on_the_left_is_said_first():
    assert refusal("99 0 * * * @tz(Mars/Base)") == ("OUT_OF_RANGE", "99")
    assert refusal("0 0 * * * @win(x,1h) @tz(Mars/Base)") == ("UNKNOWN_MODE", "x")
