"""What a command sees of its run, of its user and of the worker."""

import asyncio
import os
import pwd
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kron.launchers.command import setpriv as setpriv_module
from kron.launchers.command.journal import Journal
from kron.launchers.command.launcher import CommandLauncher
from kron.rules.launch_result import LaunchResult, Report
from kron.timing.job import Command
from tests.launchers.making import Ear, a_launch, result_of

AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
OF_THE_SHELL = {"PWD", "OLDPWD", "SHLVL", "_"}


@pytest.fixture
def folder():
    """A folder that everyone may write to."""
    with TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def run(folder, launch):
    ear = Ear()

    async def script():
        launcher = CommandLauncher(Journal(folder / "journal"), ear)
        answer = await launcher.start(launch)
        async with asyncio.timeout(30):
            while launcher.tasks:
                await asyncio.sleep(0.01)
        return result_of(answer)

    assert asyncio.run(script()) is LaunchResult.OK
    return ear.ends[-1]


def variables_of(folder, **fields):
    """The environment of a command."""
    launch = a_launch(command=Command("env -0", stdout=str(folder / "out"), **fields), attempt=3)
    assert run(folder, launch)[0] is Report.SUCCESS
    lines = (folder / "out").read_text().split("\0")
    return {
        name: value for name, _, value in (line.partition("=") for line in lines) if name and name not in OF_THE_SHELL
    }


def test_command_knows_its_run(folder):
    variables = variables_of(folder, env=(("KRON_KEY", "forged"), ("KRON_JOB", "forged"), ("COLOR", "blue")))
    launch = a_launch()
    folder_facts = (folder / "journal").stat()
    assert {name: value for name, value in variables.items() if name.startswith("KRON_")} == {
        "KRON_KEY": launch.run.key,
        "KRON_JOB": "nightly",
        "KRON_PERIOD": "2026-03-01T10:00:00Z",
        "KRON_CHOSEN": "2026-03-01T10:00:00.000Z",
        "KRON_ATTEMPT": "3",
        "KRON_JOURNAL": f"{folder_facts.st_dev}-{folder_facts.st_ino}",
    }
    assert variables["COLOR"] == "blue"


def test_command_of_the_workers_user_has_the_workers_place_in_the_world(folder, monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Paris")
    monkeypatch.setenv("PGPASSWORD", "secret")
    variables = variables_of(folder)
    assert (variables["TZ"], variables["PATH"]) == ("Europe/Paris", os.environ["PATH"])
    assert "PGPASSWORD" not in variables


@pytest.mark.privileges
@AS_ROOT
@pytest.mark.parametrize("setpriv", [True, False], ids=["by setpriv", "by Python"])
def test_command_of_another_user_has_nothing_of_the_workers_environment(folder, monkeypatch, setpriv):
    for name in ("TZ", "LANG", "PATH", "HOME", "USER", "LOGNAME", "SHELL"):
        monkeypatch.setenv(name, os.environ.get(name) or "of-the-worker")
    if not setpriv:
        monkeypatch.setattr(setpriv_module, "find_setpriv", lambda: None)
    entry, variables = pwd.getpwnam("nobody"), variables_of(folder, user="nobody")
    assert {name: value for name, value in variables.items() if not name.startswith("KRON_")} == {
        "HOME": entry.pw_dir,
        "LOGNAME": "nobody",
        "PATH": "/usr/bin:/bin",
        "SHELL": "/bin/sh",
        "USER": "nobody",
    }


@pytest.mark.privileges
@AS_ROOT
@pytest.mark.parametrize("setpriv", [True, False], ids=["by setpriv", "by Python"])
@pytest.mark.parametrize("group", [None, "daemon"])
def test_user_and_all_groups_change_together(folder, monkeypatch, setpriv, group):
    if not setpriv:
        monkeypatch.setattr(setpriv_module, "find_setpriv", lambda: None)
    line = "id -u; id -g; id -G; grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status | sort -u -k2 | cut -f2"
    launch = a_launch(command=Command(line, user="nobody", group=group, stdout=str(folder / "out")))
    own_groups = os.getgroups()
    os.setgroups([0, 4])  # of the worker
    try:
        assert run(folder, launch) == (Report.SUCCESS, 0, "")
    finally:
        os.setgroups(own_groups)
    uid, gid, groups, *capabilities = (folder / "out").read_text().split("\n")[:-1]
    assert uid == str(pwd.getpwnam("nobody").pw_uid)
    assert gid == ("1" if group else str(pwd.getpwnam("nobody").pw_gid))
    assert not {"0", "4"} & set(groups.split())
    assert capabilities == ["0" * 16]


@AS_ROOT
def test_setpriv_is_used_where_it_works():
    """It is found here, so that the tests above try both ways."""
    assert setpriv_module.find_setpriv() == "/usr/bin/setpriv"


@AS_ROOT
@pytest.mark.parametrize("text", ["exit 1", 'test "$1" = --reuid && exit 127'])
def test_setpriv_that_lacks_the_options_is_not_used(tmp_path, monkeypatch, text):
    """That of BusyBox has none of them."""
    program = tmp_path / "setpriv"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    monkeypatch.setattr(setpriv_module, "_FOLDERS", (str(tmp_path),))
    assert setpriv_module.find_setpriv.__wrapped__() is None
    monkeypatch.setattr(setpriv_module, "_FOLDERS", (str(tmp_path / "none"),))
    assert setpriv_module.find_setpriv.__wrapped__() is None


@pytest.mark.privileges
@AS_ROOT
def test_umask_and_folder_of_another_user(folder):
    command = Command("umask; pwd", user="nobody", umask=0o27, cwd=str(folder), stdout=str(folder / "out"))
    assert run(folder, a_launch(command=command))[0] is Report.SUCCESS
    assert (folder / "out").read_text() == f"0027\n{folder}\n"
    assert (folder / "out").stat().st_mode & 0o777 == 0o640


def test_payload_and_variables_do_not_take_each_others_place(folder):
    launch = a_launch(command=Command("env -0", env=(("KRON_PAYLOAD", "forged"),), stdout=str(folder / "out")))
    run(folder, replace(launch, job=replace(launch.job, payload="[1]")))
    assert "KRON_PAYLOAD=[1]" in (folder / "out").read_text().split("\0")


@pytest.mark.privileges
@AS_ROOT
def test_variables_of_a_schedule_reach_no_program_that_still_has_the_rights_of_the_worker(folder):
    """The dynamic linker obeys them: as root it would load any library. Here it would write into a folder of root."""
    private = folder / "private"
    private.mkdir(mode=0o700)
    env = (("LD_DEBUG", "libs"), ("LD_DEBUG_OUTPUT", f"{private}/trace"))
    variables = variables_of(folder, user="nobody", env=env)
    assert (variables["LD_DEBUG"], variables["LD_DEBUG_OUTPUT"]) == ("libs", f"{private}/trace")
    assert list(private.iterdir()) == []


def test_values_of_variables_are_exact_and_names_that_no_shell_can_set_are_left_out(folder):
    odd = " a\n'\"$(id)`id`\\ "
    variables = variables_of(folder, env=(("ODD", odd), ("a.b", "x"), ("SHELLOPTS", "xtrace"), ("PATH", "/bin")))
    assert (variables["ODD"], variables["PATH"]) == (odd, "/bin")
    assert not {"a.b", "SHELLOPTS"} & variables.keys()
    assert not [name for name in variables if name.startswith("KRON_ENV")]
