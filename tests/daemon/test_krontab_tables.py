"""krontab and the tables of a folder: list, edit, install and remove."""

import json
import stat
import subprocess
from pathlib import Path

import pytest

from kron.apps.krontab.main import main
from kron.apps.krontab.parser import parser, read_place
from tests.daemon.krond import BIN, NEVER, krontab, until

GOOD = f"{NEVER} name=good command=true\n"
BAD = "0 25 * * * name=bad command=true\n"


def editor(tmp_path, *contents):
    """An editor that writes one content after another into the file, and then changes nothing."""
    folder = tmp_path / "edits"
    folder.mkdir()
    for number, content in enumerate(contents):
        (folder / str(number)).write_text(content)
    script = tmp_path / "editor"
    script.write_text(
        f'#!/bin/sh\nnext=$(ls {folder} | head -n 1)\n[ -z "$next" ] && exit 0\n'
        f'cat {folder}/$next > "$1" && rm {folder}/$next && echo "$1" >> {tmp_path}/edited\n'
    )
    script.chmod(0o755)
    return str(script)


def tables(krond):
    return {path.name: path.read_text() for path in krond.tables.iterdir()}


def test_list_shows_the_state_of_each_table(krond):
    krond.write("good", GOOD.strip())
    krond.write("late", GOOD.strip())
    krond.start()
    krond.write("bad", BAD.strip())
    until(lambda: krond.events("table_refused"))
    krond.stop()
    krond.write("late", f"{NEVER} name=other command=true")
    (krond.tables / "good").rename(krond.tables / "moved")
    reports = {each["table"]: each for each in json.loads(krontab(krond, "-l", "-o", "json").stdout)}
    states = {name: (each["state"], each["jobs"], each["in_force"]) for name, each in reports.items()}
    assert states == {
        "bad": ("refused", 0, 0),
        "good": ("removed", 0, 1),
        "late": ("not read yet", 1, 1),
        "moved": ("not read yet", 1, 0),
    }
    (problem,) = reports["bad"]["problems"]
    assert (problem["code"], problem["place"]) == ("OUT_OF_RANGE", f"{krond.tables}/bad:1:3")
    result = krontab(krond, "list")
    assert "    ^^\n" in result.stderr and "krond is not running" in result.stderr and result.returncode == 0


def test_list_prints_the_text_of_a_table(krond):
    krond.write("good", GOOD.strip())
    assert krontab(krond, "-l", "good").stdout == GOOD
    result = krontab(krond, "-l", "goood")
    assert result.returncode == 1 and "did you mean 'good'?" in result.stderr


def test_install_makes_a_table_that_the_daemon_uses(krond, tmp_path):
    krond.start()
    (tmp_path / "new").write_text(GOOD)
    (tmp_path / "new").chmod(0o666)
    installed = krontab(krond, str(tmp_path / "new"))
    assert installed.returncode == 0
    assert "krond uses the change within 1 s; krontab --user reload waits until it does" in installed.stderr
    until(lambda: krond.names() == [krond.identity("good", "new")])
    assert stat.S_IMODE((krond.tables / "new").stat().st_mode) == 0o644
    replaced = krontab(krond, "--name", "new", "-", answer=GOOD.replace("name=good", "name=better"))
    assert "replaced: 1 job" in replaced.stderr
    until(lambda: krond.names() == [krond.identity("better", "new")])


def test_install_creates_the_folder_of_a_user(krond):
    krond.tables.rmdir()
    result = krontab(krond, "--name", "first", "-", answer=GOOD)
    assert result.returncode == 0 and "krond is not running: start krond --user" in result.stderr
    assert tables(krond) == {"first": GOOD}


REFUSED = {
    "field": BAD,
    "large": GOOD + "#" * (8 << 20),
    "nul": "#\0\n",
    "foreign": f"{NEVER} name=a user=nobody command=true\n",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_install_refuses_what_the_daemon_would_refuse(krond, kind):
    krond.write("old", GOOD.strip())
    result = krontab(krond, "--name", "old", "-", answer=REFUSED[kind])
    assert result.returncode == 1 and "error[" in result.stderr
    assert tables(krond) == {"old": GOOD}


def test_install_needs_a_name_that_the_daemon_reads(krond, tmp_path):
    (tmp_path / "draft.txt").write_text(GOOD)
    for words in (["-"], [str(tmp_path / "draft.txt")], ["--name", "../x", "-"]):
        result = krontab(krond, *words, answer=GOOD)
        assert result.returncode == 2 and "--name" in result.stderr
    assert tables(krond) == {}


def test_install_replaces_the_file_by_rename(krond):
    """A reader that has opened the old table reads all of it, and no other file stays in the folder."""
    path = krond.write("table", GOOD.strip())
    with path.open() as reader:
        krontab(krond, "--name", "table", "-", answer=f"{NEVER} name=new command=true\n")
        assert reader.read() == GOOD
    assert list(tables(krond)) == ["table"] and "name=new" in path.read_text()


def test_install_that_cannot_write_leaves_the_old_table_alone(krond):
    """The limit on the size of files stands for a full disk."""
    krond.write("table", GOOD.strip())
    place = ["--user", "--config", krond.tables, "--state", krond.state]
    words = ["prlimit", "--fsize=8", BIN / "krontab", "--name", "table", "-", *place]
    result = subprocess.run(words, input=GOOD + "# more\n", capture_output=True, text=True, check=False)
    assert result.returncode == 1 and "error[BAD_FILE]" in result.stderr and "File too large" in result.stderr
    assert tables(krond) == {"table": GOOD}


def test_install_refuses_a_folder_that_others_can_change(krond):
    krond.tables.chmod(0o777)
    result = krontab(krond, "--name", "table", "-", answer=GOOD)
    assert result.returncode == 1 and "error[UNSAFE_FILE]" in result.stderr
    assert tables(krond) == {}


def test_word_that_is_neither_a_command_nor_a_file_names_the_nearest_command(krond):
    result = krontab(krond, "statsu")
    assert result.returncode == 1 and "did you mean 'status'?" in result.stderr


def test_edit_shows_errors_and_asks_again(krond, tmp_path):
    krond.write("table", GOOD.strip())
    result = krontab(krond, "-e", "table", answer="\n", VISUAL=editor(tmp_path, BAD, GOOD + GOOD.replace("good", "b")))
    assert result.returncode == 0 and "    ^^\n" in result.stderr and "edit again? [Y/n]" in result.stderr
    assert tables(krond) == {"table": GOOD + GOOD.replace("good", "b")}
    assert "replaced: 2 jobs" in result.stderr
    draft = (tmp_path / "edited").read_text().split()[0]
    assert not Path(draft).exists() and not draft.startswith(str(krond.tables))


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_edit_that_is_given_up_keeps_the_table_and_the_draft(krond, tmp_path, answer):
    krond.write("table", GOOD.strip())
    result = krontab(krond, "-e", answer=answer, VISUAL="", EDITOR=editor(tmp_path, BAD))
    assert result.returncode == 1 and tables(krond) == {"table": GOOD}
    draft = (tmp_path / "edited").read_text().strip()
    assert f"your edits are in {draft}" in result.stderr
    assert Path(draft).read_text() == BAD


def test_edit_without_a_change_installs_nothing(krond, tmp_path):
    path = krond.write("table", GOOD.strip())
    before = path.stat().st_ino
    result = krontab(krond, "-e", VISUAL=editor(tmp_path))
    assert result.returncode == 0 and "not changed" in result.stderr and path.stat().st_ino == before


def test_edit_of_the_first_table_and_of_one_of_many(krond, tmp_path):
    assert krontab(krond, "-e", VISUAL=editor(tmp_path, GOOD)).returncode == 0
    assert tables(krond) == {"jobs": GOOD}
    krond.write("more", GOOD.strip())
    result = krontab(krond, "-e", VISUAL="true")
    assert result.returncode == 2 and "jobs, more" in result.stderr


def test_edit_does_not_overwrite_a_table_that_changed_meanwhile(krond, tmp_path):
    path = krond.write("table", GOOD.strip())
    script = tmp_path / "editor"
    script.write_text(f"#!/bin/sh\necho '# mine' >> \"$1\"; echo '# theirs' >> {path}\n")
    script.chmod(0o755)
    result = krontab(krond, "-e", "table", VISUAL=str(script))
    assert result.returncode == 1 and "changed while it was edited" in result.stderr
    assert tables(krond) == {"table": f"{GOOD}# theirs\n"} and "your edits are in" in result.stderr


@pytest.mark.parametrize("visual", ["false", "/no/such/editor", "'"])
def test_edit_with_an_editor_that_fails_changes_nothing(krond, visual):
    krond.write("table", GOOD.strip())
    result = krontab(krond, "-e", "table", VISUAL=visual)
    assert result.returncode == 1 and "editor" in result.stderr and "Traceback" not in result.stderr
    assert tables(krond) == {"table": GOOD}


def test_remove_asks_first(krond):
    krond.write("table", GOOD.strip())
    krond.start()
    for answer in ("\n", "n\n", ""):
        result = krontab(krond, "-r", "table", answer=answer)
        assert result.returncode == 1 and "remove table table? [y/N]" in result.stderr
    assert list(tables(krond)) == ["table"]
    assert krontab(krond, "-r", "table", answer="y\n").returncode == 0
    until(lambda: krond.names() == [])
    assert tables(krond) == {}


def test_remove_with_yes_does_not_ask(krond):
    krond.write("table", GOOD.strip())
    assert "?" not in krontab(krond, "-r", "table", "--yes").stderr
    result = krontab(krond, "-r", "table", "--yes")
    assert result.returncode == 1 and "has no table 'table'" in result.stderr


def test_options_can_stand_before_the_command(krond):
    krond.write("good", GOOD.strip())
    words = [BIN / "krontab", "--config", krond.tables, f"--state={krond.state}", "--user", "-l", "good"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == GOOD


def test_commands_of_kron_work_under_both_names(krond):
    path = krond.write("good", GOOD.strip())
    for words in (["lint", "-f", path], ["next", "-f", path, "-n", "1"], ["--version"], ["explain", "0 0 * * *"]):
        shown = [
            subprocess.run([BIN / program, *words], capture_output=True, text=True, check=True).stdout
            for program in ("kron", "krontab")
        ]
        assert shown[0] == shown[1]


def test_help_names_the_commands_and_examples():
    text = subprocess.run([BIN / "krontab", "--help"], capture_output=True, text=True, check=True).stdout
    for words in ("usage: krontab", "krontab -l [TABLE]", "krontab log -f tick", "history", "krontab lint"):
        assert words in text


def test_system_without_users_is_named(monkeypatch, capsys):
    monkeypatch.delattr("os.geteuid")
    assert main(["-l"]) == 1
    assert "error[NEEDS_LINUX]" in capsys.readouterr().err


def test_user_without_root_means_the_own_daemon(monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "/c")
    monkeypatch.setenv("XDG_STATE_HOME", "/s")
    for uid, words, folder in ((1000, [], "/c/krond"), (0, [], "/etc/krond.d"), (0, ["--user"], "/c/krond")):
        monkeypatch.setattr("os.geteuid", lambda uid=uid: uid)
        assert str(read_place(parser().parse_args(["list", *words])).config) == folder
