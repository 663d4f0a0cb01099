"""Workflow files: what is found in them, where, and what is not touched."""

import pytest

from kron.errors import KronError, LanguageError
from kron.language.fault import Fault
from kron.language.sentences.read import read_sentence
from kron.language.sentences.scatter import scatter, workflow_identifier
from kron.language.workflows import rewrite as rewriting
from kron.language.workflows import yamltext
from kron.language.workflows.compile import Status, collisions, compile_workflow
from kron.language.workflows.find import Form, read_workflow
from kron.language.workflows.rewrite import rewrite
from kron.language.workflows.yamltext import Scalar, read_yaml

WHO = "octo/site/.github/workflows/a.yml"


def compiled(text, name="a.yml", who=WHO):
    workflow = compile_workflow(text, name, who)
    assert workflow.errors == ()
    return workflow.schedules


def line(sentence, who=WHO):
    return scatter(read_sentence(sentence), who).cron


def code(text, name="a.yml"):
    return [error.code for error in compile_workflow(text, name, WHO).errors]


@pytest.mark.parametrize(
    "text",
    [
        "on:\n  schedule: daily\n",
        "'on': {schedule: daily}\n",
        '"on":\n  schedule: "daily"\n',
        "on: daily\n",
        "on:\n  schedule:\n    - cron: daily\n",
        "on:\n  schedule:\n  - cron: 'daily'\n  push:\n",
        "on:\n  schedule:\n    - daily\n",
        "on:\n  schedule: [{cron: daily}]\n",
        "name: x\non:\n  push: {}\n  schedule: DAILY\njobs: {}\n",
        "\ufeffon: daily\n",
        "on:\r\n  schedule: daily\r\n",
        "# kron: weekly\non:\n  schedule: daily # nightly build\n",
        "on:\n  schedule: |\n    daily\n",
        "on:\n  schedule: >-\n    daily\n",
    ],
)
def test_a_sentence_is_found_in_every_form(text):
    (schedule,) = compiled(text)
    assert schedule.sentence.strip().lower() == "daily"
    assert (schedule.status, schedule.cron) == (Status.MISSING, line("daily"))


@pytest.mark.parametrize(
    "text", ["", "name: x\n", "on: push\n", "on: [push, pull_request]\n", "on:\n  push:\n", "- a\n", "on:\n"]
)
def test_a_file_without_schedules_has_none(text):
    assert compiled(text) == ()


def test_front_matter_is_read_and_the_rest_of_the_page_is_not():
    page = "---\non: daily\n---\n# on: weekly\n\n---\non: hourly\n---\n"
    assert [schedule.sentence for schedule in compiled(page, "a.md")] == ["daily"]
    assert compiled("# A page\n\non: daily\n", "a.md") == ()
    assert code("---\non: daily\n", "a.md") == ["OPEN_FRONT_MATTER"]


def test_the_place_is_that_of_the_file():
    (schedule,) = compiled("---\nname: x\non:\n  schedule:\n    - cron: daily\n---\n", "a.md")
    assert schedule.place.label == "a.md:5:13"
    (error,) = compile_workflow("---\r\non:\r\n  schedule: 'weekly on mondey'\r\n---\r\n", "b.md", WHO).errors
    assert error.place.label == "b.md:3:24"
    assert error.place.text[error.place.start : error.place.end] == "mondey"


def test_every_wrong_sentence_of_a_file_is_told():
    items = ("dialy", "daily", "daily around 25:00", "0 99 * * *")
    text = "on:\n  schedule:\n" + "".join(f"    - cron: {item}\n" for item in items)
    workflow = compile_workflow(text, "a.yml", WHO)
    assert [error.code for error in workflow.errors] == ["UNKNOWN_KEYWORD", "HOUR_OUT_OF_RANGE", "OUT_OF_RANGE"]
    assert [error.place.line for error in workflow.errors] == [3, 5, 6]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on: monthly\n", "UNKNOWN_KEYWORD"),
        ("on: dayly\n", "UNKNOWN_KEYWORD"),
        ("on: daily at noon\n", "UNSUPPORTED_SYNTAX"),
        ("on: [push, daily]\n", "NOT_A_SCHEDULE"),
        ("on:\n  schedule:\n", "EMPTY_SCHEDULE"),
        ("on:\n  schedule:\n    - crom: daily\n", "NO_CRON"),
        ("on:\n  schedule:\n    - [daily]\n", "NOT_A_SCHEDULE"),
        ("a: &x daily\non:\n  schedule: *x\n", "NOT_A_SCHEDULE"),
        ("on: daily\non: weekly\n", "DUPLICATE_KEY"),
        ("on:\n  schedule: [{cron: daily}, {cron: weekly}]\n", "SHARED_LINE"),
        ("on:\n  schedule: daily  # kron: weekly\n", "TWO_SENTENCES"),
        ('on:\n  schedule:\n    - cron: "0 0 * * *"  # kron: dialy\n', "UNKNOWN_KEYWORD"),
        ('on:\n  schedule:\n    - cron: "0 0 * * *"  # kron:\n', "UNKNOWN_KEYWORD"),
        ("on: [daily\n", "NOT_YAML"),
        ("on: \x07\n", "NOT_YAML"),
        ("on: daily\n---\non: weekly\n", "TWO_DOCUMENTS"),
        ("a: " + "[" * 100_000, "TOO_DEEP"),
        ("#" * (5 << 20), "TOO_LONG"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place_and_a_hint(text, expected):
    errors = compile_workflow(text, "a.yml", WHO).errors
    assert [error.code for error in errors] == [expected]
    assert errors[0].place.line >= 1
    assert errors[0].hint


def test_a_comment_without_the_mark_is_only_a_comment():
    text = 'on:\n  schedule:\n    - cron: "0 0 * * *"  # daily\n    - cron: "0 3 * * *"  # weekly report\n'
    assert {schedule.status for schedule in compiled(text)} == {Status.FIXED}
    assert rewrite(compile_workflow(text, "a.yml", WHO)) == text


def test_a_marked_comment_is_the_source_of_its_cron_line():
    text = 'on:\n  schedule:\n    - cron: "0 0 * * *"  # kron: weekly on friday  # for the boss\n'
    (schedule,) = compiled(text)
    assert (schedule.status, schedule.sentence, schedule.cron) == (
        Status.DIFFERS,
        "weekly on friday",
        line("weekly on friday"),
    )
    right = text.replace("0 0 * * *", line("weekly on friday"))
    assert compiled(right)[0].status is Status.SAME
    assert rewrite(compile_workflow(text, "a.yml", WHO)) == right


REWRITES = [
    ("on: daily\n", 'on: {{schedule: [{{cron: "{daily}"}}]}}  # kron: daily\n'),
    ("on: {schedule: daily}\n", 'on: {{schedule: [{{cron: "{daily}"}}]}}  # kron: daily\n'),
    ("on:\n  schedule: daily\n", 'on:\n  schedule: [{{cron: "{daily}"}}]  # kron: daily\n'),
    ("on:\n  schedule:\n    - daily\n", 'on:\n  schedule:\n    - cron: "{daily}"  # kron: daily\n'),
    ("on:\n  schedule:\n  - cron: daily", 'on:\n  schedule:\n  - cron: "{daily}"  # kron: daily'),
    ("on:\n  schedule:\n  - cron: 'daily'   # x\n", "on:\n  schedule:\n  - cron: '{daily}'  # kron: daily   # x\n"),
    ("on:\r\n  schedule:\r\n  - cron: daily\r\n", 'on:\r\n  schedule:\r\n  - cron: "{daily}"  # kron: daily\r\n'),
    ("on:\n  schedule:\n  - cron: */7  # kron: daily\n", None),  # to YAML a bare */7 is an alias
    (
        "on:\n  schedule:\n  - cron: 1 2 * * *  # kron: daily\n",
        'on:\n  schedule:\n  - cron: "{daily}"  # kron: daily\n',
    ),
    ("\ufeffé: 😀\non:\n  schedule: daily\n", '\ufeffé: 😀\non:\n  schedule: [{{cron: "{daily}"}}]  # kron: daily\n'),
]


@pytest.mark.parametrize(("text", "expected"), REWRITES)
def test_a_file_is_rewritten_in_place_and_once(text, expected):
    workflow = compile_workflow(text, "a.yml", WHO)
    if expected is None:
        assert workflow.errors
        return
    after = rewrite(workflow)
    assert after == expected.format(daily=line("daily"))
    again = compile_workflow(after, "a.yml", WHO)
    assert rewrite(again) == after
    assert {schedule.status for schedule in again.schedules} == {Status.SAME}


@pytest.mark.parametrize(
    "text",
    [
        "on:\n  schedule: |\n    daily\n",
        "on:\n  schedule: &x daily\n",
        "on: {schedule: daily, push: {}}\n",
        'on:\n  schedule: "dai\\u006cy"\n',
    ],
)
def test_what_cannot_be_written_in_place_is_refused_and_not_forced(text):
    with pytest.raises(LanguageError) as caught:
        rewrite(compile_workflow(text, "a.yml", WHO))
    assert caught.value.code == "CANNOT_WRITE"
    assert "# kron: daily" in caught.value.hint


def test_a_new_text_that_would_not_read_the_same_is_never_handed_out(monkeypatch):
    monkeypatch.setitem(rewriting._REPLACEMENTS, Form.CRON, '"1 2 3 4 5"')
    with pytest.raises(LanguageError) as caught:
        rewrite(compile_workflow("on:\n  schedule:\n    - cron: daily\n", "a.yml", WHO))
    assert caught.value.code == "CANNOT_WRITE"


@pytest.mark.req("FUZZY-R-SAFE-004")
def test_schedules_with_the_same_line_are_warned_about_and_left_alone():
    twice = compiled("on:\n  schedule:\n    - cron: daily\n    - cron: daily\n")
    assert twice[0].cron == twice[1].cron == line("daily")
    (finding,) = collisions(twice)
    assert finding.code == "COLLISION"
    assert "one hash" in finding.hint
    names = [workflow_identifier("octo/site", f"{n}.yml") for n in range(200)]
    many = [compiled("on: daily\n", f"{name}.yml", name)[0] for name in names]
    found = collisions(many)
    assert found
    assert all("spread less well" in finding.hint for finding in found)
    assert [schedule.cron for schedule in many] == [line("daily", name) for name in names]
    assert collisions(compiled("on:\n  schedule:\n    - cron: 0 0 * * *\n    - cron: 0 0 * * *\n")) == []


@pytest.mark.req("FUZZY-9.3-WARN")
def test_a_fixed_cron_line_is_warned_about_with_the_sentence_that_would_replace_it():
    (schedule,) = compiled('on:\n  schedule:\n    - cron: "0 */2 * * *"\n')
    (finding,) = schedule.findings
    assert finding.message == "Consider using 'every 2h' instead of fixed interval"
    assert finding.hint == "Fixed intervals create load spikes when many workflows run simultaneously"
    assert finding.place.label == "a.yml:3:13"


@pytest.mark.parametrize("text", [text for text, _ in REWRITES])
def test_both_parsers_of_yaml_find_the_same_places(text, monkeypatch):
    def places():
        try:
            return read_workflow(text, markdown=False)
        except Fault as fault:
            return fault.code

    fast = places()
    slow_yaml = yamltext._library()
    monkeypatch.delattr(slow_yaml, "CSafeLoader")
    assert places() == fast


def test_without_pyyaml_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(KronError) as caught:
        compile_workflow("on: daily\n", "a.yml", WHO)
    assert caught.value.code == "NEEDS_YAML"
    assert "kron-py[yaml]" in caught.value.hint


def test_yaml_makes_no_objects():
    node = read_yaml("!!python/object/apply:os.system ['true']\n")
    assert node is not None
    assert [type(item) for item in node.items] == [Scalar]


@pytest.mark.req("FUZZY-A1-DAILY")
def test_front_matter_schedule_without_on_is_found():
    """As appendix A writes it: `schedule:` by itself."""
    for text in ("schedule: daily\n", "name: x\nschedule:\n  - cron: daily\n", "on: push\nschedule: daily\n"):
        page = f"---\n{text}---\n# A page\n"
        (schedule,) = compiled(page, "a.md")
        assert (schedule.sentence, schedule.status) == ("daily", Status.MISSING)
        again = rewrite(compile_workflow(page, "a.md", WHO))
        assert [each.status for each in compiled(again, "a.md")] == [Status.SAME]


def test_front_matter_schedule_beside_on_gives_both():
    page = "---\nschedule: weekly\non:\n  schedule: daily\n---\n"
    assert [schedule.sentence for schedule in compiled(page, "a.md")] == ["weekly", "daily"]
    assert code("---\nschedule: daily\nschedule: weekly\n---\n", "a.md") == ["DUPLICATE_KEY"]


def test_yaml_workflow_with_a_schedule_outside_on_has_none():
    assert compiled("schedule: daily\n") == ()
