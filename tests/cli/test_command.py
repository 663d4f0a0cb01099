"""The command as a process: streams, colours, exit codes, completion, and what it costs."""

import argparse
import errno
import io
import os
import pty
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kron.apps.cli import options
from kron.apps.cli.console import Screen
from kron.apps.cli.parser import parser
from kron.language import DIALECTS
from tests.cli.conftest import command

BIN = Path(sys.executable).parent


def test_help_has_examples_and_costs_less_than_150_ms_of_cpu():
    costs = [1.0]
    while min(costs) >= 0.150 and len(costs) <= 40:  # other processes on the machine only ever add
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = command("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert result.returncode == 0
        assert 'kron next "0 9 * * MON-FRI @tz(Europe/Paris)"' in result.stdout
        costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        time.sleep(0.2)
    assert min(costs) < 0.150


NAMES = (
    "lint explain next fmt verify why audit worker migrate maintain doctor compile translate spread conformance import"
)


@pytest.mark.parametrize("name", [*NAMES.split(), "tzdiff", "completion"])
def test_every_command_has_help_with_an_example(name):
    result = command(name, "--help")
    assert result.returncode == 0
    assert "example:\n  kron " in result.stdout


def parsers(command, *words):
    """The parser of each command, under its words: `kron schedules next`."""
    yield words, command
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, each in action.choices.items():
                yield from parsers(each, *words, name)


@pytest.mark.parametrize(
    "command", [pytest.param(each, id=" ".join(words)) for words, each in parsers(parser(), "kron")]
)
def test_every_argument_has_a_help_text(command):
    values = [action for action in command._actions if not isinstance(action, argparse._SubParsersAction)]
    assert [action.dest for action in values if not action.help] == []


def test_the_dialects_to_choose_from_are_those_of_the_language():
    assert options.DIALECTS == DIALECTS


def test_krontab_is_a_second_name():
    result = subprocess.run([BIN / "krontab", "--help"], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("usage: krontab ")


def test_the_version_names_the_tz_database():
    assert command("--version").stdout.startswith("kron ")
    assert "(tz database 20" in command("--version").stdout


UNQUOTED = ("next", "0", "9", "1", "1", "1")


@pytest.mark.parametrize("words", [(), ("nonsense",), ("next",), UNQUOTED, ("next", "x", "-n", "0")])
def test_a_wrong_command_line_ends_with_2_and_nothing_on_stdout(words):
    result = command(*words)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr


def test_a_schedule_without_quotes_is_understood_as_that():
    assert "put the schedule in quotes" in command(*UNQUOTED).stderr


def test_key_of_a_run_without_its_option_is_understood_as_that():
    assert "--run KEY" in command("why", "report", "a" * 64, "--store", "sqlite:jobs.db").stderr


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("next", "0 9 * * *", "--zone", "Europe/Paris"), "did you mean --timezone?"),
        (("next", "0 9 * * *", "--identiti", "a"), "did you mean --identity?"),
        (("next", "0 9 * * *", "--colour", "a"), "with --help"),
        (("why", "x", "--key", "y"), "with --help"),
        (("jobs", "--key", "y"), "with --help"),
        (("doctor", "--store", "memory:", "--zone", "UTC"), "with --help"),
        (("schedules", "trigger", "x", "--kee", "y"), "did you mean --key?"),
    ],
)
def test_unknown_option_has_a_hint(words, hint):
    assert hint in command(*words).stderr


def test_unknown_state_lists_the_states_in_plain_words():
    said = command("runs", "x", "--state", "bogus").stderr
    assert "invalid choice: 'bogus'" in said
    assert "pending" in said
    assert "State." not in said


def on_a_terminal(*words, **environment):
    """What the command prints when stdout and stderr are a terminal."""
    main, side = pty.openpty()
    env = {**os.environ, "TERM": "xterm", **environment}
    env = {key: value for key, value in env.items() if value}
    subprocess.run([BIN / "kron", *words], stdout=side, stderr=side, env=env, check=False, timeout=60)
    os.close(side)
    chunks = []
    try:
        while chunk := os.read(main, 65_536):
            chunks.append(chunk)
    except OSError:
        pass  # the other end is closed
    os.close(main)
    return b"".join(chunks).decode()


def test_colour_is_for_terminals_that_want_it():
    words = ("next", "0 99 * * *")
    assert "\x1b[31m" in on_a_terminal(*words, NO_COLOR="")
    assert "\x1b" not in on_a_terminal(*words, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(*words, NO_COLOR="", TERM="dumb")
    assert "\x1b" not in command(*words).stderr


def test_colour_changes_no_other_character():
    words = ("explain", "0 0 * * * @win(after,3h)", "--identity", "a", "--period", "2026-03-01T00:00:00Z")
    painted = on_a_terminal(*words, NO_COLOR="", COLUMNS="80")
    plain = on_a_terminal(*words, NO_COLOR="1", COLUMNS="80")
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[2m"):
        painted = painted.replace(code, "")
    assert painted == plain


def test_a_reader_that_leaves_early_is_no_error():
    pipe = subprocess.Popen(
        [BIN / "kron", "next", "* * * * *", "-n", "10000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    pipe.stdout.readline()
    pipe.stdout.close()
    assert pipe.wait(60) == 0
    assert pipe.stderr.read() == b""
    pipe.stderr.close()


@pytest.mark.parametrize(
    ("typed", "offered"), [("kron ex", "explain"), ("kron next --out", "--output"), ("kron completion z", "zsh")]
)
def test_bash_completes_commands_and_options(typed, offered):
    words = typed.split(" ")
    script = command("completion", "bash").stdout
    listed = " ".join(f"'{word}'" for word in words)
    ask = f"{script}\nCOMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _kron; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    result = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True, cwd="/")
    assert result.stdout.split() == [offered]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_can_read_their_script(shell):
    script = command("completion", shell).stdout
    assert "explain" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n", "/dev/stdin"], input=script, text=True, check=True)


def test_a_file_that_cannot_be_read_is_said_so(tmp_path):
    result = command("lint", "-f", str(tmp_path / "absent"))
    assert result.returncode == 1
    assert "No such file" in result.stderr
    (tmp_path / "latin").write_bytes(b"# caf\xe9\n")
    result = command("lint", "-f", str(tmp_path / "latin"))
    assert result.returncode == 1
    assert "not UTF-8" in result.stderr


def test_a_note_that_cannot_be_written_stops_nothing():
    """A service starts also when the disk of its log is full."""

    class Full(io.StringIO):
        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

    Screen(io.StringIO(), Full()).note("kron is serving on http://127.0.0.1:8080")
