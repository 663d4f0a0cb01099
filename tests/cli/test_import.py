"""`kron import`: crontabs of a host become a krontab file, and nothing else changes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kron.apps.cli import crontab_sources
from kron.apps.declarative import host
from kron.language.krontab import read_table

AT = ("--at", "2026-01-15T00:00:00Z")
UTC = ("--timezone", "UTC", *AT)
SYSTEM = "PATH=/usr/bin\n17 * * * * root run-parts /etc/cron.hourly\n@reboot root x\n"


@pytest.fixture(autouse=True)
def homes(monkeypatch):
    """Every user exists, and has no home directory."""
    monkeypatch.setattr("kron.apps.cli.commands.import_.home_of", lambda user: "")


@pytest.fixture
def crontab(tmp_path):
    def write(text, name="crontab"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def lines(text):
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_system_crontab_becomes_a_krontab(kron, crontab):
    path = crontab(SYSTEM)
    result = kron("import", path, *UTC)
    assert result.status == 0
    job, boot_job = read_table(result.out, "/krontab").jobs
    assert (job.command.user, job.command.env) == ("root", (("PATH", "/usr/bin"),))
    assert (boot_job.command.line, boot_job.source.text) == ("x", "@reboot")
    assert lines(result.out)[0].startswith("17 * * * * @policy(concurrency=allow,deadline=1m) name=root-run-parts-")
    assert Path(path).read_text(encoding="utf-8") == SYSTEM
    assert [each.name for each in Path(path).parent.iterdir()] == ["crontab"]


def test_summary_counts_lines_and_compares_the_busiest_minutes(kron, crontab):
    text = "MAILTO=x\n@reboot root x\n" + "".join(f"0 0 * * * root x {number}\n" for number in range(50))
    result = kron("import", crontab(text), *UTC)
    summary, load = result.err.splitlines()
    assert summary == "50 lines imported, 0 lines with notes, 1 @reboot, 0 not imported"
    assert load.startswith("busiest minute: 50 (2026-01-15T00:00:00Z) as imported, ")
    assert int(load.partition("as imported, ")[2].split()[0]) < 10


def test_json_ends_with_the_load_before_and_after(kron, crontab):
    text = "".join(f"0 0 * * * root x {number}\n" for number in range(50))
    result = kron("import", crontab(text), "-o", "json", *UTC)
    load = json.loads(result.out.splitlines()[-1])
    before, after = load["before"], load["after"]
    assert (load["from"], load["days"]) == ("2026-01-15T00:00:00Z", 7)
    assert (before["runs"], before["peak"], before["peak_at"]) == (350, 50, "2026-01-15T00:00:00Z")
    assert before["busiest_minute_by_hour"] == [50, *[0] * 23]
    assert f"busiest minute: 50 (2026-01-15T00:00:00Z) as imported, {after['peak']} ({after['peak_at']})" in result.err


@pytest.mark.parametrize(
    ("line", "window"),
    [
        ("0 5 * * *", "from 1h before to 1h after the time of the line"),
        ("17 * * * *", "from minute 5 to minute 54 of the hour"),
        ("~ 3 * * *", "up to 59m after the time of the line"),
        ("*/5 * * * *", "none"),
    ],
)
def test_proposed_window_stands_above_each_line(kron, crontab, line, window):
    comments = [
        each for each in kron("import", crontab(f"{line} root x\n"), *UTC).out.splitlines() if "# window" in each
    ]
    assert comments == [f"# window: {window}"]


def test_summary_counts_the_last_line_that_cron_ignores(kron, crontab):
    result = kron("import", crontab("0 1 * * * root a\n0 2 * * * root b"), *UTC)
    summary = result.err.splitlines()[0]
    assert summary == "1 line imported, 1 line with notes, 0 @reboot, 0 not imported, 1 ignored, as cron ignores them"


def test_pipes_and_dangling_links_of_a_folder_are_left_out(kron, crontab, tmp_path):
    crontab("0 5 * * * root a\n", "cron.d/a")
    os.mkfifo(tmp_path / "cron.d" / "pipe")
    (tmp_path / "cron.d" / "link").symlink_to(tmp_path / "nowhere")
    result = kron("import", str(tmp_path / "cron.d"), *UTC)
    assert [job.command.line for job in read_table(result.out, "/krontab").jobs] == ["a"]
    left_out = [line for line in result.err.splitlines() if "it is not a file" in line]
    assert [Path(line.partition(":")[0]).name for line in left_out] == ["link", "pipe"]


def test_folder_is_read_by_the_names_of_run_parts(kron, crontab, tmp_path):
    for name in ("b_2", "a-1", "c.dpkg-old", ".placeholder", "d~"):
        crontab(f"0 5 * * * root {name[0]}\n", f"cron.d/{name}")
    (tmp_path / "cron.d" / "folder").mkdir()
    result = kron("import", str(tmp_path / "cron.d"), *UTC)
    assert [job.command.line for job in read_table(result.out, "/krontab").jobs] == ["a", "b"]
    ignored = [line for line in result.err.splitlines() if "not imported: cron ignores" in line]
    assert [Path(line.partition(":")[0]).name for line in ignored] == [".placeholder", "c.dpkg-old", "d~"]


def test_names_are_unique_across_files(kron, crontab):
    result = kron("import", crontab("0 5 * * * root x\n", "a"), crontab("0 6 * * * root x\n", "b"), *UTC)
    table = read_table(result.out, "/krontab")
    assert table.errors == ()
    assert len(table.jobs) == 2


def test_crontab_of_a_user_has_no_user_column(kron, crontab):
    for result in (
        kron("import", "--user", "alice", crontab("0 5 * * * x y\n"), *UTC),
        kron("import", "--user", "alice", "-", *UTC, stdin="0 5 * * * x y\n"),
    ):
        (job,) = read_table(result.out, "/krontab").jobs
        assert (job.command.user, job.command.line) == ("alice", "x y")


def test_standard_input_can_have_a_user_column(kron):
    result = kron("import", "--system", "-", *UTC, stdin="0 5 * * * x y\n")
    (job,) = read_table(result.out, "/krontab").jobs
    assert (job.command.user, job.command.line) == ("x", "y")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-"], "the user of the crontab on standard input is unknown"),
        (["-", "--user", "a", "--system"], "--user and --system are mutually exclusive"),
        (["-", "-", "--system"], "standard input is given twice"),
        ([".", "--user", "a"], ". is a folder, and --user is given"),
    ],
)
def test_unclear_sources_are_refused(kron, words, message):
    result = kron("import", *words, *UTC)
    assert (result.status, result.out) == (2, "")
    assert message in result.err


def test_file_that_is_not_there(kron, tmp_path):
    result = kron("import", str(tmp_path / "nothing"), *UTC)
    assert (result.status, "error[NOT_FOUND]" in result.err) == (1, True)


def test_invalid_line_is_shown_and_nothing_is_written(kron, crontab, tmp_path):
    path = crontab("0 5 * * * root a\n0 25 * * * root b\n")
    result = kron("import", path, "--write", str(tmp_path / "new"), *UTC)
    assert (result.status, result.out) == (1, "")
    assert f"{path}:2:3: error[OUT_OF_RANGE]: hour field value 25 is out of range (0-23)" in result.err
    assert "  0 25 * * * root b\n    ^^\n  hint: use a value from 0 to 23" in result.err
    assert "1 line imported, 0 lines with notes, 0 @reboot, 1 not imported" in result.err
    assert not (tmp_path / "new").exists()
    assert kron("import", path, *UTC).out == ""


def test_keep_going_writes_an_invalid_line_as_a_comment(kron, crontab):
    result = kron("import", "--keep-going", crontab("0 25 * * * root b\n0 5 * * * root a\n"), *UTC)
    assert result.status == 0
    assert "# line 1: 0 25 * * * root b\n# not imported: hour field value 25 is out of range (0-23)\n" in result.out
    assert len(lines(result.out)) == 1
    assert "error[OUT_OF_RANGE]" in result.err


def test_json_has_one_object_per_line(kron, crontab):
    path = crontab("# x\nA=1\n0 0 * * * root a\n@reboot root b\n0 25 * * * root c\n")
    result = kron("import", path, "-o", "json", *UTC)
    assert result.status == 1
    objects = [json.loads(line) for line in result.out.splitlines()]
    assert [(each["line"], each["status"]) for each in objects] == [
        (2, "variable"),
        (3, "imported"),
        (4, "reboot"),
        (5, "failed"),
        (None, "load"),
    ]
    job = objects[1]
    assert job["schedule"] == "0 0 * * * @policy(concurrency=allow,deadline=1m)"
    assert job["proposal"] == "0 0 * * * @win(around,2h) @policy(deadline=10m)"
    assert job["window"] == "from 1h before to 1h after the time of the line"
    assert (job["command"], job["user"], job["env"]) == ("a", "root", {"A": "1"})
    assert read_table(job["krontab"], "/krontab").jobs[0].name == job["name"]
    assert (objects[3]["error"]["code"], objects[3]["error"]["start"]) == ("OUT_OF_RANGE", 2)
    assert kron("import", path, "-o", "json", "--keep-going", *UTC).status == 0


def test_new_file_is_written_and_an_old_one_is_kept(kron, crontab, tmp_path):
    path, target = crontab(SYSTEM), tmp_path / "krontab"
    result = kron("import", path, "--write", str(target), *UTC)
    assert (result.status, result.out) == (0, "")
    assert len(read_table(target.read_text(encoding="utf-8"), "/krontab").jobs) == 2
    for existing in (str(target), path):
        before = Path(existing).read_text(encoding="utf-8")
        result = kron("import", path, "--write", existing, *UTC)
        assert (result.status, "error[EXISTS]" in result.err) == (1, True)
        assert Path(existing).read_text(encoding="utf-8") == before
    result = kron("import", path, "--write", str(tmp_path / "no" / "krontab"), *UTC)
    assert (result.status, "error[BAD_FILE]" in result.err) == (1, True)


def test_zone_is_that_of_the_host_whatever_the_shell_says(kron, crontab, tmp_path, monkeypatch):
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    monkeypatch.setattr(host, "_LINK", link)
    monkeypatch.setenv("TZ", "America/New_York")
    path = crontab("0 5 * * * root x\n")
    assert "0 5 * * * @tz(Asia/Tokyo) @policy" in kron("import", path, *AT).out
    assert "@tz(Europe/Paris)" in kron("import", path, "--timezone", "Europe/Paris", *AT).out
    assert "@tz" not in kron("import", path, "--timezone", "Etc/UTC", *AT).out


def test_unknown_zone_of_the_host_asks_for_the_option(kron, crontab, tmp_path, monkeypatch):
    file = tmp_path / "localtime"
    file.write_bytes(b"TZif")
    monkeypatch.setattr(host, "_LINK", file)
    monkeypatch.setattr(host, "_FILE", tmp_path / "timezone")
    result = kron("import", crontab("0 5 * * * root x\n"), *AT)
    assert (result.status, "hint: add --timezone ZONE" in result.err) == (1, True)
    assert kron("import", crontab("0 5 * * * root x\n"), "--timezone", "Mars/Base", *AT).status == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such users")
def test_home_directory_is_that_of_the_user():
    import pwd

    entry = next(entry for entry in pwd.getpwall() if Path(entry.pw_dir).is_dir())
    assert crontab_sources.home_of(entry.pw_name) == entry.pw_dir
    assert crontab_sources.home_of("no-such-user") is None


@pytest.mark.parametrize("program", ["kron", "krontab"])
def test_both_programs_have_the_command(crontab, program):
    words = [str(Path(sys.executable).with_name(program)), "import", crontab(SYSTEM), *UTC]
    result = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0
    assert "name=root-run-parts-" in result.stdout
