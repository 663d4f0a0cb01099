"""The strict POSIX dialect, clause by clause of the declarative scheduler's cron language."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kron.errors import LanguageError
from kron.language import parse
from tests.language import asking

ACCEPTED = [
    "0 0 * * *",
    "15 3 * * 1-5",
    "0,30 * * * *",
    "0 12 14 2 *",
    "05 09 * * *",
    "  0 0 * * *  ",
    "\t0\t0\t*\t*\t*\t",
    "0-59 0-23 1-31 1-12 0-6",
    "1,2,3-5,10-10 * * * *",
    "0 0 30 2 *",
]
REFUSED = [
    "*/15 * * * *",
    "0 0 * * mon",
    "@daily",
    "0 0 ? * *",
    "",
    "* * * *",
    "* * * * * *",
    "1-2-3 * * * *",
    "a * * * *",
    "* * * * *\n",
    "*\n* * * *",
    "*\u00a0* * * *",
    "\uff11 * * * *",
    "1; * * * *",
    "'* * * * *'",
]


def refusal(text):
    return asking.refusal(text, dialect="posix")


@pytest.mark.req("DECL-CRON-POSIX")
@pytest.mark.parametrize("text", ACCEPTED)
def test_strict_posix_is_accepted(text):
    parse(text, dialect="posix")


@pytest.mark.req("DECL-CRON-POSIX")
@pytest.mark.parametrize("text", REFUSED)
def test_and_nothing_else_is(text):
    with pytest.raises(LanguageError):
        parse(text, dialect="posix")


# The grammar of the document, as one expression, and its three rules that a grammar cannot say
NUMBER = "[0-9]+"
ELEMENT = f"{NUMBER}(?:-{NUMBER})?"
FIELD = rf"(?:\*|{ELEMENT}(?:,{ELEMENT})*)"
EBNF = re.compile(rf"[ \t]*{FIELD}(?:[ \t]+{FIELD}){{4}}[ \t]*")
RANGES = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]


def in_range(text):
    for field, (low, high) in zip(re.split("[ \t]+", text.strip(" \t")), RANGES, strict=True):
        for element in field.split(",") if field != "*" else ():
            first, _, last = element.partition("-")
            if not low <= int(first) <= int(last or first) <= high:
                return False
    return True


# Fields and separators that are right more often than not, so that many texts are, and all but right ones too
PIECES = st.sampled_from(
    ["*", "0", "5", "1-3", "1,2", "03", "2-2,4", "59", "*/2", "5-1", "1,", "-", "\u0660", "L", "1\n"]
)
GAPS = st.sampled_from([" ", " ", " ", "\t", "  ", " \t", "\n", "\r", "\x0b", "\u00a0", "\u2003", ""])
NEAR = st.lists(st.tuples(PIECES, GAPS), min_size=4, max_size=6).map(
    lambda found: "".join(map("".join, found)).strip(" ")
)
SOUP = st.lists(st.sampled_from("0123456789 \t*,-/"), max_size=20).map("".join)


@pytest.mark.req("DECL-CRON-EBNF", "DECL-CRON-POSIX")
@settings(max_examples=1_000, deadline=None)
@example("0 0 * * *")
@example(" \t0 0 1,15 * 0-6\t ")
@example("0 0 * *\n*")
@example("0\u00a00 * * *")
@given(NEAR | SOUP)
def test_a_text_is_accepted_exactly_if_the_documents_grammar_and_ranges_accept_it(text):
    try:
        parse(text, dialect="posix")
        accepted = True
    except LanguageError:
        accepted = False
    assert accepted == bool(EBNF.fullmatch(text) and in_range(text))


@pytest.mark.req("DECL-CRON-EBNF")
def test_spaces_and_tabs_separate_and_surround():
    assert parse(" \t 0  \t 0\t\t* * *\t ", dialect="posix") == parse("0 0 * * *", dialect="posix")


@pytest.mark.req("DECL-CRON-MIXLIST")
@pytest.mark.parametrize("text", ["*,5 * * * *", "5,* * * * *", "*,* * * * *"])
def test_a_star_cannot_be_part_of_a_list(text):
    assert refusal(text) == ("STAR_IN_LIST", "*")


@pytest.mark.req("DECL-CRON-NUMBER")
def test_a_number_may_have_leading_zeros_any_number_of_them():
    plain = parse("5 9 * * *", dialect="posix")
    assert parse("05 09 * * *", dialect="posix") == plain
    assert parse("0" * 10_000 + "5 0009 * * *", dialect="posix") == plain


@pytest.mark.parametrize(
    ("place", "name", "low", "high"),
    [
        pytest.param(0, "minute", 0, 59, marks=pytest.mark.req("DECL-CRON-F-MIN", "DECL-CRON-REJECT-RANGE")),
        pytest.param(1, "hour", 0, 23, marks=pytest.mark.req("DECL-CRON-F-HOUR", "DECL-CRON-REJECT-RANGE")),
        pytest.param(2, "day", 1, 31, marks=pytest.mark.req("DECL-CRON-F-DAY", "DECL-CRON-REJECT-RANGE")),
        pytest.param(3, "month", 1, 12, marks=pytest.mark.req("DECL-CRON-F-MONTH", "DECL-CRON-REJECT-RANGE")),
        pytest.param(4, "weekday", 0, 6, marks=pytest.mark.req("DECL-CRON-F-DOW", "DECL-CRON-REJECT-RANGE")),
    ],
)
def test_a_field_takes_its_range_and_not_a_number_more(place, name, low, high):
    def text(value):
        return " ".join(["*"] * place + [str(value)] + ["*"] * (4 - place))

    def values(value):
        cron = parse(text(value), dialect="posix").cron
        return asking.numbers([cron.minutes, cron.hours, cron.days, cron.months, cron.weekdays][place], low)

    for number in range(low, high + 1):
        assert values(number) == [number]
    assert values(f"{low}-{high}") == list(range(low, high + 1))
    for number in [*range(low), high + 1, 10 * high, 10**30]:
        assert refusal(text(number)) == ("OUT_OF_RANGE", str(number))
        assert refusal(text(f"{low},{number}"))[0] == "OUT_OF_RANGE"
    with pytest.raises(LanguageError, match=f"{name} field value {high + 1} is out of range"):
        parse(text(high + 1), dialect="posix")


@pytest.mark.req("DECL-CRON-F-DOW")
def test_weekday_0_is_sunday():
    sunday = parse("0 0 * * 0", dialect="posix").cron
    assert sunday == parse("0 0 * * SUN", dialect="kron").cron
    assert sunday.after(0) == 3 * 86_400  # 1970-01-04 was a Sunday


@pytest.mark.req("DECL-CRON-REJECT-FIELDS")
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 6, 7, 1000])
def test_there_are_exactly_five_fields(count):
    code, surplus = refusal(" ".join("*" * count))
    assert code == "FIELD_COUNT"
    assert surplus == " ".join("*" * (count - 5))


@pytest.mark.req("DECL-CRON-REJECT-STEP", "DECL-CRON-BAD-1")
@pytest.mark.parametrize("step", ["*/15", "0-30/5", "5/15", "*/1", "*/"])
def test_steps_are_refused(step):
    assert refusal(f"{step} * * * *") == ("STEP", step)


@pytest.mark.req("DECL-CRON-REJECT-NAME", "DECL-CRON-BAD-2")
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0 0 * jan *", "jan"),
        ("0 0 * * mon", "mon"),
        ("0 0 * * sunday", "sunday"),
        ("0 0 * * MON-FRI", "MON"),
        ("0 0 * * 1-FRI", "FRI"),
        ("0 0 * January *", "January"),
    ],
)
def test_names_are_refused(text, name):
    assert refusal(text) == ("NAME", name)


@pytest.mark.req("DECL-CRON-REJECT-MACRO", "DECL-CRON-BAD-3")
@pytest.mark.parametrize("macro", ["@daily", "@hourly", "@weekly", "@monthly", "@yearly", "@reboot", "@DAILY"])
def test_macros_are_refused(macro):
    assert refusal(macro) == ("MACRO", macro)


@pytest.mark.req("DECL-CRON-REJECT-QUARTZ", "DECL-CRON-BAD-4")
@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("0 0 ? * *", "?"),
        ("0 0 L * *", "L"),
        ("0 0 15W * *", "15W"),
        ("0 0 LW * *", "LW"),
        ("0 0 W * *", "W"),
        ("0 0 * * 5#3", "5#3"),
        ("0 0 * * 5L", "5L"),
        ("0 0 * * #", "#"),
    ],
)
def test_quartz_tokens_are_refused(text, token):
    assert refusal(text) == ("QUARTZ", token)


@pytest.mark.req("DECL-CRON-REJECT-7")
@pytest.mark.parametrize("text", ["0 0 * * 7", "0 0 * * 5-7", "0 0 * * 0,7", "0 0 * * 7-7", "0 0 * * 07"])
def test_7_is_not_a_weekday(text):
    code, where = refusal(text)
    assert (code, int(where)) == ("OUT_OF_RANGE", 7)


@pytest.mark.req("DECL-CRON-REJECT-WRAP")
@pytest.mark.parametrize("text", ["0 22-2 * * *", "0 0 * * 6-0", "59-0 * * * *", "0 0 31-1 * *", "0 0 * 12-1 *"])
def test_ranges_do_not_go_round(text):
    code, where = refusal(text)
    assert code == "REVERSED_RANGE"
    assert where in text.split()


@pytest.mark.req("DECL-CRON-REJECT-NONDEC")
@pytest.mark.parametrize(
    "number", ["1e1", "0x5", "+5", "-5", "1.5", "0b1", "1_0", "\u0661", "\uff11", "\u00b2", "5.", "1e"]
)
def test_only_plain_decimal_digits_make_a_number(number):
    code, where = refusal(f"{number} * * * *")
    assert code in ("NOT_A_NUMBER", "BAD_CHARACTER")
    assert where in number
    assert refusal(f"1-{number} * * * *")[0] in ("NOT_A_NUMBER", "BAD_CHARACTER")


def test_the_error_says_which_field_and_why_for_those_who_word_it_themselves():
    def details(text):
        with pytest.raises(LanguageError) as caught:
            parse(text, dialect="posix")
        return caught.value.details

    assert details("0 24 * * *") == {"field": "hour", "reason": "value 24 is out of range (0-23)"}
    assert details("0 0 * *") == {"field": "expression", "reason": "has 4 fields"}
    assert details("@daily")["field"] == "expression"
    assert details("0 0 * * *\n")["field"] == "expression"
    assert details("1" * 70_000)["field"] == "expression"
