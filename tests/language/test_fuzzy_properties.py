"""Whatever is written: a schedule, or an answer with a place and a hint; never anything else."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kron import KronError, LanguageError, parse
from kron.language.sentences import github, grammar
from kron.language.sentences.interval import Fixed
from kron.language.sentences.placeholder import read_placeholder
from kron.language.sentences.read import read_sentence
from kron.language.sentences.scatter import scatter
from kron.language.workflows.compile import Status, compile_workflow
from kron.language.workflows.rewrite import rewrite

WORDS = """
daily weekly hourly bi-weekly tri-weekly every on around between and at weekdays monday sunday noon midnight
9am 12:30pm 14:00 24:00 0:00 23:59 3 pm am utc+9 utc-12 utc+14:00 utc9 pst pt 2h 5 minutes 7 days 1w weeks 0 -1 1.5
"""
sentences = st.lists(st.sampled_from(WORDS.split()), max_size=9).map(" ".join)
identities = st.text(min_size=1, max_size=30)


def answered(error, text):
    assert isinstance(error, KronError)
    assert error.code
    assert error.hint
    if isinstance(error, LanguageError):
        assert 0 <= error.place.start <= len(text)
        assert all(char.isprintable() or char in "\n\t" for char in str(error))


@given(st.one_of(sentences, st.text(max_size=60)), identities)
def test_any_text_is_a_schedule_or_is_answered(text, identity):
    try:
        schedule = parse(text, dialect="fuzzy", identity=identity)
    except KronError as error:
        answered(error, text)
        return
    sentence = read_sentence(text)
    line = scatter(sentence, identity).cron
    assert schedule.cron == github.read(line)
    if not isinstance(sentence.plan, Fixed):
        assert read_placeholder(sentence.placeholder) == sentence.plan
        assert 5 <= int(line.split()[0]) <= 54 or "between" in text.lower()


@given(sentences)
def test_case_and_spaces_change_nothing(text):
    def outcome(said):
        try:
            return grammar.read(said).placeholder
        except grammar.Fault as fault:
            return fault.code

    assert outcome(text) == outcome(text.upper()) == outcome(f"\t{text.replace(' ', '   ')} ")


@settings(deadline=None)  # the first text loads PyYAML
@given(st.text(max_size=200), st.booleans())
def test_any_file_is_read_or_answered(text, markdown):
    workflow = compile_workflow(text, "a.md" if markdown else "a.yml", "o/r/a")
    for error in workflow.errors:
        answered(error, error.place.text)


values = st.one_of(sentences, st.sampled_from(["daily", "weekly on monday", "0 9 * * 1", "*/5 * * * *"]))
quotes = st.sampled_from(['"{}"', "'{}'", "{}"])
tails = st.sampled_from(["", "  # a comment", " # kron: daily", "  # kron: weekly on friday  # and more", "   "])
items = st.tuples(values, quotes, tails).map(lambda item: f"    - cron: {item[1].format(item[0])}{item[2]}\n")


@settings(deadline=None)
@given(st.lists(items, min_size=1, max_size=4), st.sampled_from(["\n", "\r\n"]))
def test_what_is_rewritten_reads_the_same_and_is_rewritten_no_more(lines, end):
    text = ("name: é\non:\n  schedule:\n" + "".join(lines) + "jobs: {}\n").replace("\n", end)
    workflow = compile_workflow(text, "a.yml", "o/r/a.yml")
    if workflow.errors:
        return
    after = rewrite(workflow)
    again = compile_workflow(after, "a.yml", "o/r/a.yml")
    assert rewrite(again) == after
    assert [s.cron for s in again.schedules] == [s.cron for s in workflow.schedules]
    assert {s.status for s in again.schedules} <= {Status.SAME, Status.FIXED}
    assert after.count("\n") == text.count("\n")
    assert after.split(end)[0] == "name: é"
