"""The service dialect: five fields or six, names, steps, and 7 for Sunday too."""

import pytest

from kron.errors import KronError
from kron.language import parse
from kron.language.canonical import unparse
from tests.language import asking
from tests.language.asking import numbers


def service(text, **options):
    return parse(text, dialect="service", **options).cron


def refusal(text):
    return asking.refusal(text, dialect="service")


def test_five_fields_run_at_second_0():
    assert service("0 0 * * *") == parse("0 0 * * *", dialect="posix").cron
    assert numbers(service("*/5 * * * *").seconds) == [0]


def test_six_fields_have_the_seconds_first():
    cron = service("*/20 1 2 3 4 5")
    assert numbers(cron.seconds) == [0, 20, 40]
    assert numbers(cron.minutes) == [1]
    assert numbers(cron.weekdays) == [5]
    assert service("0 0 0 * * *") == service("0 0 * * *")


def test_or_last_where_the_deployment_says_so():
    assert service("1 2 3 4 5 */20", seconds="last") == service("*/20 1 2 3 4 5")
    assert service("1 2 3 4 5", seconds="last") == service("1 2 3 4 5")
    with pytest.raises(KronError) as caught:
        service("1 2 3 4 5 6", seconds="middle")
    assert caught.value.code == "UNKNOWN_SECONDS"


def test_a_fault_is_found_where_it_stands_whichever_end_the_seconds_are_at():
    assert refusal("60 0 0 * * *") == ("OUT_OF_RANGE", "60")
    with pytest.raises(KronError, match="second field value 60") as caught:
        service("0 0 * * * 60", seconds="last")
    assert caught.value.span == (10, 12)
    with pytest.raises(KronError, match="minute field value 60") as caught:
        service("60 0 * * * 0", seconds="last")
    assert caught.value.span == (0, 2)


@pytest.mark.parametrize("text", ["0 0 * *", "0 0 0 * * * *", ""])
def test_four_and_seven_fields_are_refused(text):
    assert refusal(text)[0] == "FIELD_COUNT"


def test_7_is_sunday_too_alone_in_lists_and_at_the_end_of_ranges():
    assert service("0 0 * * 7") == service("0 0 * * 0") == service("0 0 * * SUN")
    assert numbers(service("0 0 * * 5-7").weekdays) == [0, 5, 6]
    assert numbers(service("0 0 * * 1-7/2").weekdays) == [0, 1, 3, 5]
    assert numbers(service("0 0 * * 0,7").weekdays) == [0]
    assert numbers(service("0 0 * * 0-7").weekdays) == [0, 1, 2, 3, 4, 5, 6]
    assert numbers(service("0 0 * * */2").weekdays) == [0, 2, 4, 6]
    assert refusal("0 0 * * 8") == ("OUT_OF_RANGE", "8")
    assert refusal("0 0 * * 7-2") == ("REVERSED_RANGE", "7-2")


def test_7_is_7_in_every_other_field():
    assert numbers(service("7 7 7 7 *").minutes) == [7]
    assert numbers(service("7 7 7 7 *").days, 1) == [7]
    assert refusal("0 0 * 13 *") == ("OUT_OF_RANGE", "13")


def test_0_to_7_restricts_the_weekday_field_although_it_names_every_day():
    assert not service("0 0 1 * 0-7").any_weekday
    assert service("0 0 1 * *").any_weekday


def test_macros_and_modifiers_are_refused():
    assert refusal("@daily") == ("MACRO", "@daily")
    assert refusal("0 0 * * * * @tz(UTC)") == ("FIELD_COUNT", "@tz(UTC)")


def test_unparse_of_every_second_keeps_the_star():
    for text in ("* * * * * *", "*/1 0-59 * * * *", "0-59 * * * * *"):
        assert unparse(parse(text, dialect="service")) == "* * * * * *"
    assert unparse(parse("*/2 * * * * *", dialect="service")) == "*/2 * * * * *"
