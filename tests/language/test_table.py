"""krontab files: generated ones read back, and the lines that people write."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kron.errors import KronError, LanguageError
from kron.language import parse
from kron.language.krontab import MAX_ERRORS, MAX_LINES, read_table
from kron.language.quoting import quote
from kron.timing.job import MAX_GRACE, Command
from tests.language import texts

PATH = "/etc/krontab"
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,10}", fullmatch=True)
values = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r"), min_size=1, max_size=12)
paths = values.map("/{}".format)
variables = st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,5}", fullmatch=True), values, max_size=3)
commands = st.builds(
    Command,
    line=values,
    user=st.none() | values,
    group=st.none() | values,
    cwd=st.none() | paths,
    env=variables.map(lambda found: tuple(found.items())),
    shell=st.none() | paths,
    umask=st.none() | st.integers(0, 0o777),
    timeout=st.none() | st.integers(1, texts.LONGEST),
    grace=st.none() | st.integers(0, MAX_GRACE),
    stdout=st.none() | paths,
    stderr=st.none() | paths,
)


def pairs_of(command, name, description):
    """The `key=value` words of a line."""
    yield f"name={name}"
    yield f"command={quote(command.line)}"
    yield from (f"env={variable}={quote(value)}" for variable, value in command.env)
    for key in ("user", "group", "cwd", "shell", "stdout", "stderr"):
        if getattr(command, key) is not None:
            yield f"{key}={quote(getattr(command, key))}"
    if command.umask is not None:
        yield f"umask={command.umask:03o}"
    if command.timeout is not None:
        yield f"timeout={command.timeout}ns"
    if command.grace is not None:
        yield f"grace={command.grace}ns"
    if description:
        yield f"description={quote(description)}"


@settings(max_examples=60, deadline=None)
@given(st.data(), texts.kron_texts(), names, commands, st.just("") | values, texts.gaps)
def test_a_line_is_read_back_as_it_was_meant(data, schedule, name, command, description, gap):
    assume("\n" not in schedule and "\r" not in schedule)
    pairs = data.draw(st.permutations(list(pairs_of(command, name, description))))
    order = [word.partition("=")[2].partition("=")[0] for word in pairs if word.startswith("env=")]
    table = read_table(schedule + gap + gap.join(pairs), PATH)
    try:
        expected = parse(schedule, dialect="kron")
    except LanguageError as error:
        assert [found.code for found in table.errors] == [error.code] == ["NEVER"]
        return
    (job,) = table.jobs
    assert table.errors == ()
    assert job.schedule == expected
    assert (job.identity, job.name, job.description) == (f"{PATH}:{name}", name, description)
    assert job.command.env == tuple((variable, dict(command.env)[variable]) for variable in order)
    assert [getattr(job.command, key) for key in REST] == [getattr(command, key) for key in REST]


REST = ("line", "user", "group", "cwd", "shell", "umask", "timeout", "grace", "stdout", "stderr")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["good", "bad", "", "   ", "# name=x", "\t# x"]), max_size=12),
    st.sampled_from(["\n", "\r\n"]),
)
def test_every_line_is_read_on_its_own_and_keeps_its_number(kinds, end):
    lines = [
        {"good": f"0 0 * * * name=job{number} command=x", "bad": f"0 99 * * * name=job{number} command=x"}.get(
            kind, kind
        )
        for number, kind in enumerate(kinds, 1)
    ]
    table = read_table(end.join(lines), PATH)
    assert [line.number for line in table.lines] == [n for n, kind in enumerate(kinds, 1) if kind == "good"]
    assert [error.place.line for error in table.errors] == [n for n, kind in enumerate(kinds, 1) if kind == "bad"]
    for error in table.errors:
        assert error.place.label == f"{PATH}:{error.place.line}:3"
        assert error.place.text == lines[error.place.line - 1]


def only_error(text):
    (error,) = read_table(text, PATH).errors
    start, end = error.span
    return error.code, error.place.text[start:end]


def test_a_line_keeps_what_it_said():
    (line,) = read_table('  0 0 * * *  @tz(UTC)  name=a command="b c" ', PATH).lines
    assert (line.number, line.schedule, line.rest) == (1, "0 0 * * *  @tz(UTC)", 'name=a command="b c" ')
    assert line.job.command.line == "b c"


def test_a_variable_may_be_quoted_whole_or_in_its_value():
    (job,) = read_table(r'0 0 * * * name=a command=b env=A="x y" env="B=x y" env=C=x\ y env=D= env=E=a=b', PATH).jobs
    assert job.command.env == (("A", "x y"), ("B", "x y"), ("C", "x y"), ("D", ""), ("E", "a=b"))


def test_a_description_may_be_empty_and_nothing_else():
    (job,) = read_table("0 0 * * * name=a command=b description=", PATH).jobs
    assert job.description == ""
    for key in (
        "name",
        "command",
        "user",
        "group",
        "cwd",
        "env",
        "shell",
        "umask",
        "timeout",
        "grace",
        "stdout",
        "stderr",
    ):
        pairs = {"name": "a", "command": "b", key: ""}
        line = " ".join(["0 0 * * *", *(f"{name}={value}" for name, value in pairs.items())])
        assert only_error(line) == ("BAD_VALUE", f"{key}=")


def test_salts_and_clauses_may_hold_what_looks_like_keys():
    text = '0 0 * * * @seed(stable,salt="x name=y") @only("hours=8 ; dow=MON") name=a command=b'
    (job,) = read_table(text, PATH).jobs
    assert job.schedule.seed.salt == "x name=y"
    assert job.name == "a"


def test_the_first_of_two_jobs_with_one_name_is_kept():
    table = read_table("0 0 * * * name=a command=b\n0 1 * * * command=c name=a\n0 2 * * * name=b command=d", PATH)
    assert [line.number for line in table.lines] == [1, 3]
    assert only_error("0 0 * * * name=a command=b\n0 1 * * * command=c name=a") == ("DUPLICATE_NAME", "name=a")


def test_a_line_that_failed_does_not_take_its_name():
    table = read_table("0 99 * * * name=a command=b\n0 1 * * * name=a command=c", PATH)
    assert [job.name for job in table.jobs] == ["a"]


def test_an_empty_file_has_no_jobs_and_no_errors():
    for text in ("", "\n\n", "# nothing", "\r\n", " \t \n"):
        table = read_table(text, PATH)
        assert (table.jobs, table.errors) == ((), ())


def test_a_file_has_its_limits():
    table = read_table("#\n" * MAX_LINES + "0 0 * * * name=a command=b\n" * 2, PATH)
    assert ([error.code for error in table.errors], table.jobs) == (["TOO_LONG"], ())
    table = read_table("x\n" * (MAX_ERRORS + 50) + "0 0 * * * name=a command=b", PATH)
    assert len(table.errors) == MAX_ERRORS + 1
    assert (table.errors[-1].code, table.jobs) == ("TOO_MANY_ERRORS", ())


@pytest.mark.parametrize("path", ["/a\nb", "/a\udcff"])
def test_a_path_that_cannot_be_an_identity_is_refused(path):
    with pytest.raises(KronError) as caught:
        read_table("0 0 * * * name=a command=b", path)
    assert caught.value.code == "BAD_PATH"
