"""What holds of every text and every schedule: the way there and the way back."""

from dataclasses import fields, replace
from itertools import islice, permutations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from kron.errors import LanguageError
from kron.language import parse
from kron.language.canonical import canonical, to_posix, unparse, write_cron
from kron.language.english import describe
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import possible
from kron.timing.zone import zone
from tests import oracle
from tests.language import texts

THOROUGH = settings(max_examples=150, deadline=None)


def again(schedule):
    """The schedule read back from its canonical text."""
    return parse(unparse(schedule), dialect=canonical(schedule).dialect, timezone=schedule.zone.name)


def read(text, dialect="kron"):
    """The schedule of a text that is right, but for days that no month has."""
    try:
        return parse(text, dialect=dialect)
    except LanguageError as error:
        assume(error.code != "NEVER")
        raise


@pytest.mark.req("KSYN-SCOPE-DESIGN")
@THOROUGH
@given(texts.schedules)
def test_the_canonical_text_of_a_schedule_says_the_schedule(schedule):
    assert again(schedule) == schedule


@THOROUGH
@given(st.builds(Schedule, texts.crons(seconds=True), st.sampled_from(texts.ZONES).map(zone)))
def test_and_so_does_that_of_one_with_seconds_whose_zone_stands_beside_it(schedule):
    assert again(schedule) == schedule


@THOROUGH
@given(st.builds(Schedule, texts.crons(), st.sampled_from(texts.ZONES).map(zone)))
def test_and_that_of_one_that_may_never_run(schedule):
    assert again(schedule) == schedule


@pytest.mark.req("KSYN-SCOPE-DESIGN")
@THOROUGH
@given(texts.kron_texts())
def test_a_kron_text_parsed_written_and_parsed_again_is_the_same(text):
    schedule = read(text)
    assert parse(unparse(schedule), dialect="kron") == schedule
    assert unparse(again(schedule)) == unparse(schedule)


@pytest.mark.req("DECL-CRON-EBNF")
@THOROUGH
@given(texts.posix_texts)
def test_a_posix_text_means_what_its_fields_list(text):
    cron = parse(text, dialect="posix").cron
    assert_means(cron, text.split())
    assert again(Schedule(cron)) == Schedule(cron)


@THOROUGH
@given(texts.service_texts, st.sampled_from(texts.ZONES))
def test_a_service_text_means_what_its_fields_list(text, zone):
    schedule = parse(text, dialect="service", timezone=zone)
    assert_means(schedule.cron, text.split())
    assert again(schedule) == schedule


@THOROUGH
@given(texts.cron_texts())
def test_a_kron_text_means_what_its_fields_list(text):
    assert_means(read(text).cron, text.split())


def assert_means(cron, words):
    """That the bits of a cron are those that the oracle reads out of its fields."""
    *second, minute, hour, day, month, weekday = words
    assert numbers(cron.seconds) == (oracle.values(second[0], 0, 59) if second else {0})
    assert numbers(cron.minutes) == oracle.values(minute, 0, 59)
    assert numbers(cron.hours) == oracle.values(hour, 0, 23)
    assert {number + 1 for number in numbers(cron.days)} == oracle.values(day, 1, 31)
    assert {number + 1 for number in numbers(cron.months)} == oracle.values(month, 1, 12, oracle.MONTHS)
    assert numbers(cron.weekdays) == {n % 7 for n in oracle.values(weekday, 0, 6, oracle.WEEKDAYS)}
    assert (cron.any_day, cron.any_weekday) == (day == "*", weekday == "*")


def numbers(bits):
    return {number for number in range(bits.bit_length()) if bits >> number & 1}


@THOROUGH
@given(texts.schedules, texts.schedules, st.sampled_from([part.name for part in fields(Schedule)]))
def test_schedules_have_the_same_text_exactly_if_they_are_equal(one, another, part):
    other = replace(one, **{part: getattr(another, part)})
    assert (one == other) == (unparse(one) == unparse(other))


@THOROUGH
@given(texts.schedules)
def test_a_canonical_text_is_its_own_canonical_text(schedule):
    assert unparse(again(schedule)) == unparse(schedule)


@pytest.mark.req("KSYN-GRAM-ORDER")
@settings(max_examples=60, deadline=None)
@given(texts.cron_texts(), texts.modifier_texts())
def test_the_order_of_modifiers_does_not_matter(cron, modifiers):
    schedule = read(" ".join([cron, *modifiers]))
    for order in islice(permutations(modifiers), 24):
        assert parse(" ".join([cron, *order]), dialect="kron") == schedule


@pytest.mark.req("KSYN-GRAM-ORDER")
def test_all_5040_orders_of_all_seven_modifiers_say_the_same():
    modifiers = [
        "@tz(Europe/Paris)",
        "@win(around,90m)",
        "@dist(skewLate,shape=2.5)",
        '@seed(daily,salt="a b")',
        "@policy(deadline=5m)",
        "@avoid(dow=SAT)",
        "@only(hours=8-18)",
    ]
    schedule = parse(" ".join(["0 10 * * *", *modifiers]), dialect="kron")
    for order in permutations(modifiers):
        assert parse(" ".join(["0 10 * * *", *order]), dialect="kron") == schedule


@THOROUGH
@given(texts.crons())
def test_lowering_gives_strict_posix_with_the_same_meaning(cron):
    assert parse(to_posix(cron), dialect="posix").cron == cron


@settings(max_examples=50, deadline=None)
@example("0 0 */14 * *", 0)
@example("0 12 * * MON-FRI", 0)
@example("30 6 */1 * MON", 0)
@example("0 0 */2 * MON", 0)
@example("*/7 */5 * JAN-MAR *", 40)
@given(texts.cron_texts(), st.integers(0, 24_000))
def test_a_lowered_text_runs_at_the_same_times_as_the_text(text, day):
    lowered = to_posix(read(text).cron)
    ticks = YEARS[day % len(YEARS)]
    assert oracle.occurrences(lowered, ticks) == oracle.occurrences(text, ticks)
    assert set(lowered) <= set("0123456789,-* ")


# What a clock shows at every minute of three months that differ in length and begin on different days
YEARS = [
    oracle.walk("UTC", start, start + 31 * 86_400)
    for start in (1_769_904_000, 1_772_323_200, 1_830_297_600)  # February and March 2026, January 2028
]


@pytest.mark.parametrize(
    ("text", "lowered"),
    [
        ("0 0 */14 * *", "0 0 1,15,29 * *"),
        ("0 0 * * MON-FRI", "0 0 * * 1-5"),
        ("0 0 */1 * *", "0 0 1-31 * *"),
        ("0 0 * * */1", "0 0 * * 0-6"),
        ("*/1 */1 * */1 *", "* * * * *"),
        ("*/20 * * jan,DEC *", "0,20,40 * * 1,12 *"),
        ("10-30/10 0-23/12 1 2-3 sun", "10,20,30 0,12 1 2,3 0"),
    ],
)
def test_a_text_is_lowered_to(text, lowered):
    assert to_posix(parse(text, dialect="kron").cron) == lowered


def test_seconds_cannot_be_lowered():
    with pytest.raises(ValueError, match="seconds"):
        to_posix(parse("*/10 * * * * *", dialect="service").cron)


def test_a_service_text_with_7_is_lowered_to_0():
    assert to_posix(parse("0 0 * * 5-7", dialect="service").cron) == "0 0 * * 0,5,6"


@THOROUGH
@given(texts.schedules)
def test_english_never_fails_and_names_the_zone(schedule):
    sentence = describe(schedule)
    assert schedule.zone.name in sentence
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert "\n" not in sentence


@settings(max_examples=200, deadline=None)
@given(texts.crons(seconds=True))
def test_english_never_fails_on_seconds_either(cron):
    assert "UTC" in describe(Schedule(cron))


@THOROUGH
@given(texts.crons())
def test_the_canonical_fields_are_short_and_plain(cron):
    words = write_cron(cron).split(" ")
    assert len(words) == 5
    assert (words[2] == "*", words[4] == "*") == (cron.any_day, cron.any_weekday)


def test_a_schedule_that_never_runs_is_written_in_the_dialect_that_can_say_so():
    schedule = parse("0 0 30 2 *", dialect="posix", timezone="Europe/Paris")
    assert not possible(schedule.cron)
    assert canonical(schedule) == ("0 0 30 FEB *", "service")
