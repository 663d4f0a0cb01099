"""What holds of every text of the plus dialect, and of every text of the kron dialect in it."""

from random import Random

import pytest
from benchmarks import plus_campaign
from hypothesis import given, settings
from hypothesis import strategies as st

from kron.errors import LanguageError
from kron.language import parse
from kron.language.canonical import canonical, unparse
from kron.language.english import describe
from kron.language.fault import Fault
from kron.language.kron import scan
from kron.language.lint import lint
from kron.language.options import Options
from kron.language.plus import PLUS_MODIFIERS
from kron.language.reading import read_stored, read_strictly, zone_of
from kron.timing.decision import decide
from kron.timing.due import due_of
from kron.timing.job import Job
from kron.timing.period import Period, next_nominal
from kron.timing.schedule import Schedule
from kron.timing.zone import EARLIEST, instant_of
from tests.language import golden, texts

NOW = instant_of("2026-06-01T00:00:00Z")
TOKEN_CHARACTERS = set("LlWw#")


def read_named(text, zone, identity):
    return read_strictly(text, "plus", Options(zone_of(zone), identity=identity, stored=True))


def result(text: str, dialect: str) -> Schedule | str:
    """The schedule of a text, or the code of its error."""
    try:
        return parse(text, dialect=dialect)
    except LanguageError as error:
        return error.code


def has_new_syntax(text: str) -> bool:
    """Whether a text has something that only the plus dialect has."""
    try:
        head, modifiers = scan(text, PLUS_MODIFIERS)
    except Exception:
        return False
    words = head.split()
    has_tokens = len(words) in (5, 6) and bool(TOKEN_CHARACTERS & set(words[-1] + words[-3]))
    is_new = {modifier.name for modifier in modifiers} & {"days", "dst", "valid"}
    return words[:1] in (["at"], ["every"]) or len(words) == 6 or has_tokens or bool(is_new)


def assert_same_in_plus(text: str) -> None:
    """That a valid text has the same value in plus, and that a refused one is refused or has new syntax."""
    kron, plus = result(text, "kron"), result(text, "plus")
    if isinstance(kron, Schedule):
        assert plus == kron, text
        assert isinstance(plus, Schedule)
        assert (unparse(plus), plus.terms is kron.terms, type(plus.cron)) == (unparse(kron), True, type(kron.cron))
    elif isinstance(plus, Schedule):
        assert has_new_syntax(text), text


@settings(max_examples=150, deadline=None)
@given(texts.kron_texts())
def test_a_kron_text_has_the_same_value_in_plus(text):
    assert_same_in_plus(text)


@pytest.mark.parametrize("parser", ["kron", "posix", "service"])
def test_a_text_of_the_golden_files_is_refused_or_has_new_syntax(parser):
    cases = golden.read(parser)
    assert len(cases) > 10
    for case in cases:
        assert_same_in_plus(case.input)


@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_random_texts_are_read_alike_or_have_new_syntax(seed):
    rng = Random(seed)
    inputs = [case.input for case in golden.read("kron") if len(case.input) < 200]
    for _ in range(1_000):
        assert_same_in_plus(mutated(rng, rng.choice(inputs) if rng.random() < 0.3 else random_line(rng)))


def random_line(rng: Random) -> str:
    """Five fields, and some modifiers."""
    shared = ("*", "5", "1-5", "*/3", "1,3", "2-6/2")
    own = (("0", "59", "*/15"), ("0", "23"), ("31", "*/2"), ("JAN", "feb-APR", "12"), ("0", "MON", "wed", "WED-FRI"))
    fields = [rng.choice(shared + more) for more in own]
    bodies = ("@tz(Europe/Paris)", "@win(after,1h)", "@seed(daily)", "@avoid(dow=SAT)", "@dist(uniform)")
    return " ".join(fields + rng.sample(bodies, rng.choice((0, 0, 1, 2))))


def mutated(rng: Random, text: str) -> str:
    """The text with up to three characters replaced, removed or added."""
    characters = list(text)
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 3))):
        place = rng.randrange(len(characters) + 1)
        characters[place : place + rng.choice((0, 1))] = rng.choice((*"*,-/#LW05 @()=.:TZ\té", "L", "7", ""))
    return "".join(characters)


def plus_texts(seed: int, count: int) -> list[tuple[str, str]]:
    """Random texts of the plus dialect, each with a zone."""
    return [(case.expression, case.stretch.zone) for case in plus_campaign.cases(seed, count)]


@pytest.mark.parametrize("seed", range(4))
def test_a_plus_text_is_read_again_from_its_canonical_text(seed):
    for text, zone in plus_texts(seed, 250):
        try:
            schedule = read_stored(text, "plus", zone)
        except LanguageError as error:
            assert error.code == "NEVER"
            continue
        written, dialect = canonical(schedule)
        again = read_stored(written, dialect, zone if dialect == "service" else "UTC")
        assert again == schedule, text
        assert canonical(again) == (written, dialect)
        assert zone == "UTC" or describe(schedule).endswith(".")
        lint(text, schedule, NOW, dialect="plus")


@settings(max_examples=100, deadline=None)
@given(st.text("0123456789*,-/LWFRI#@()=adysturnilmohcevTZ :", max_size=60), st.sampled_from(["", "0 9 L * * ", "at "]))
def test_no_text_makes_the_parser_fail(text, head):
    assert result(head + text, "plus")


@pytest.mark.parametrize("seed", range(2))
def test_an_identity_never_changes_a_nominal_time(seed):
    for text, zone in plus_texts(seed + 100, 150):
        windowed = f"{text} @win(around,2h)"
        try:
            schedules = [read_named(windowed, zone, name) for name in ("a", "team/b", "ß")]
        except Fault as fault:
            assert fault.code == "NEVER"
            continue
        assert schedules[0] == schedules[1] == schedules[2]
        plain = read_stored(text, "plus", zone)
        if next_nominal(plain, EARLIEST) is None:  # a person cannot write it
            with pytest.raises(LanguageError, match=r"NEVER|NO_SUCH_TIME"):
                parse(text, dialect="plus", timezone=zone)
            continue
        nominal = next_nominal(plain, NOW) or next_nominal(plain, instant_of("0400-01-01T00:00:00Z"))
        assert nominal is not None
        for name in ("a", "team/b", "ß"):
            assert next_nominal(schedules[0], nominal - 1) == nominal
            assert decide(schedules[0], Period(nominal), name).period.nominal == nominal
            assert due_of(Job(name, schedules[0]), nominal).nominal == nominal


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("0 9 *,L * *", "STAR_IN_LIST", (4, 5)),
        ("0 9 L,* * *", "STAR_IN_LIST", (6, 7)),
        ("0 9 * * *,FRIL", "STAR_IN_LIST", (8, 9)),
        ("0 9 L, * *", "EMPTY_ELEMENT", (6, 6)),
        ("0 9 ,L * *", "EMPTY_ELEMENT", (4, 4)),
        ("0 9 * * MON#2,", "EMPTY_ELEMENT", (14, 14)),
        ("0 9 L,99 * *", "OUT_OF_RANGE", (6, 8)),
        ("0 9 1,LW,foo * *", "UNKNOWN_NAME", (9, 12)),
        ("0 9 L * MON#2,XXX", "UNKNOWN_NAME", (14, 17)),
        ("0 9 15W,L-31 * *", "OUT_OF_RANGE", (8, 12)),
        ("0 9 * * TUE#6", "NTH_RANGE", (8, 13)),
        ("0 9 L,é * *", "BAD_CHARACTER", (6, 7)),
    ],
)
def test_an_error_next_to_a_token_has_its_own_place(text, code, place):
    with pytest.raises(LanguageError) as caught:
        parse(text, dialect="plus")
    assert (caught.value.code, (caught.value.place.start, caught.value.place.end)) == (code, place)
