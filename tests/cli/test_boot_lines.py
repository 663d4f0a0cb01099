"""Lines with @reboot: the commands about files accept them, and those about times say why they cannot."""

import pytest


@pytest.fixture
def table(tmp_path):
    def write(text):
        path = tmp_path / "table"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize("command", ["next", "explain"])
def test_commands_about_times_refuse_a_job_without_times(kron, table, command):
    refused = kron(command, "-f", table("@reboot name=job command=true\n"), "job")
    assert refused.status == 1
    assert "error[NOT_FOUND]: job 'job' runs at the next boot, and has no times" in refused.err


def test_other_jobs_of_the_file_are_shown(kron, table):
    shown = kron("next", "-f", table("@reboot name=a command=x\n0 3 * * * name=b command=x\n"), "-n", "1")
    assert (shown.status, "a: at the next boot, by krond" in shown.err, " b" in shown.out) == (0, True, True)


def test_line_is_valid_and_keeps_its_form(kron, table):
    path = table("@reboot @policy(deadline=1h)   name=job command=true\n")
    assert kron("lint", "-f", path).err == "0 errors, 0 warnings, 0 notes\n"
    assert kron("fmt", "-f", path).out == "@reboot @policy(deadline=1h) name=job command=true\n"


def test_boot_adds_nothing_to_the_load(kron, table):
    shown = kron("spread", table("@reboot name=a command=x\n0 3 * * * name=b command=x\n"))
    assert "1 schedule, " in shown.out


def test_schedule_cannot_be_a_boot(kron):
    refused = kron("next", "@reboot")
    assert refused.status == 1
    assert "only krond runs @reboot, in a line of a krontab file" in refused.err
