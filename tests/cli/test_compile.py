"""`kron compile`: what it prints where, what it writes, and what it refuses."""

import json
import random
import re
import subprocess
from pathlib import Path

import pytest

from kron.apps.cli.repository import slug
from kron.language.sentences.read import read_sentence
from kron.language.sentences.scatter import scatter, workflow_identifier
from tests.cli.conftest import command
from tests.cli.test_command import on_a_terminal

AT = "2026-03-01T00:00:00Z"
GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder outside of any repository, to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return tmp_path


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def cron(sentence, path, repository="octo/site"):
    return scatter(read_sentence(sentence), workflow_identifier(repository, path)).cron


def test_the_table_has_file_sentence_placeholder_cron_and_next_run(kron, folder):
    write(folder, "a.md", "---\non: daily around 14:00\n---\n")
    write(folder, "b.yml", 'on:\n  schedule:\n    - cron: "0 9 1 * *"\n')
    result = kron("compile", "--repo", "octo/site", "--at", AT, "a.md", "b.yml")
    assert result.status == 0
    head, first, second = result.out.splitlines()
    assert re.split("  +", head) == ["FILE", "SENTENCE", "PLACEHOLDER", "CRON", "NEXT RUN (UTC)"]
    minute, hour = cron("daily around 14:00", "a.md").split()[:2]
    assert re.split("  +", first) == [
        "a.md:2",
        "daily around 14:00",
        "FUZZY:DAILY_AROUND:14:0 * * *",
        f"{minute} {hour} * * *",
        f"2026-03-01T{int(hour):02d}:{int(minute):02d}:00Z",
    ]
    assert re.split("  +", second) == ["b.yml:3", "-", "-", "0 9 1 * *", "2026-03-01T09:00:00Z"]


@pytest.mark.req("FUZZY-12-STREAM", "FUZZY-12-ARTIFACT", "FUZZY-12-NOFILE", "FUZZY-12-EMPTY")
def test_the_heatmap_is_on_stderr_only_never_in_json_and_never_without_schedules(kron, folder):
    path = write(folder, "a.yml", "on: daily\n")
    before = sorted(folder.rglob("*"))
    text = kron("compile", "--repo", "octo/site", str(path))
    assert "Schedule Heatmap (UTC)" in text.err
    assert "Heatmap" not in text.out
    as_json = kron("compile", "--repo", "octo/site", "--output", "json", str(path))
    assert "Heatmap" not in as_json.err + as_json.out
    assert json.loads(as_json.out)
    empty = write(folder, "b.yml", "on: push\n")
    assert "Heatmap" not in kron("compile", "--repo", "octo/site", str(empty)).err
    assert sorted(folder.rglob("*")) == sorted([*before, empty])


@pytest.mark.req("FUZZY-12-ANSI", "FUZZY-12-PLAIN")
def test_the_heatmap_is_coloured_on_a_terminal_and_has_the_same_columns(folder):
    write(folder, "a.yml", "on: daily\n")
    words = ("compile", "--repo", "octo/site", "--at", AT, "a.yml")
    coloured = on_a_terminal(*words, NO_COLOR="").replace("\r\n", "\n")
    assert "\x1b[36m░\x1b[0m" in coloured
    plain = command(*words)
    assert plain.stderr in re.sub(r"\x1b\[[0-9;]*m", "", coloured)


def test_json_tells_all_that_a_program_may_want(kron, folder):
    write(folder, "a.yml", 'on:\n  schedule:\n    - cron: "1 2 * * *"  # kron: daily\n    - cron: daily\n')
    first, second = json.loads(kron("compile", "--repo", "o/r", "--at", AT, "--output", "json", "a.yml").out)
    line = cron("daily", "a.yml", "o/r")
    assert first == {
        "file": "a.yml",
        "line": 3,
        "identifier": "o/r/a.yml",
        "sentence": "daily",
        "placeholder": "FUZZY:DAILY * * *",
        "cron": line,
        "committed": "1 2 * * *",
        "status": "differs",
        "seed": first["seed"],
        "why": first["why"],
        "next_run": first["next_run"],
        "warnings": [],
    }
    assert second["status"] == "missing"
    assert [warning["code"] for warning in second["warnings"]] == ["COLLISION"]


SENTENCES = {
    "E-01": "monthly",
    "E-02": "daily around 25:00",
    "E-03": "daily around 14:65",
    "E-04": "daily around",
    "E-05": "daily between 9:00",
    "E-06": "daily between 14:00 and 14:00",
    "E-07": "weekly on mondey",
    "E-08": "every 5 fortnights",
    "E-09": "every 2 minutes",
    "E-10": "every 1.5 hours",
}


@pytest.mark.req("FUZZY-3.7-STDERR", "FUZZY-3.7-NOFALLBACK", "FUZZY-3.7-PHASE", "FUZZY-9.4-NOFIX")
@pytest.mark.parametrize("row", SENTENCES)
def test_each_row_of_the_error_table_through_the_command_line(row, folder):
    write(folder, "workflow.md", f"---\non:\n  schedule: {SENTENCES[row]}\n---\n")
    result = command("compile", "--repo", "octo/site", "--write", "workflow.md")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (GOLDEN / "sentences" / f"{row}.txt").read_text(encoding="utf-8")
    assert (folder / "workflow.md").read_text() == f"---\non:\n  schedule: {SENTENCES[row]}\n---\n"
    direct = command("next", SENTENCES[row], "--dialect", "fuzzy", "--identity", "a")
    assert (direct.returncode, direct.stdout) == (1, "")
    assert direct.stderr.split("error[")[1].split("]")[0] == result.stderr.split("error[")[1].split("]")[0]


def test_one_wrong_file_stops_all(kron, folder):
    write(folder, "a.yml", "on: daily\n")
    write(folder, "b.yml", "on: dayly\n")
    result = kron("compile", "--repo", "octo/site", "--write", ".")
    assert (result.status, result.out) == (1, "")
    assert (folder / "a.yml").read_text() == "on: daily\n"


@pytest.mark.req("FUZZY-R-SAFE-003")
def test_without_a_repository_it_is_refused_and_said_what_to_do(kron, folder):
    write(folder, "a.yml", "on: daily\n")
    result = kron("compile", "a.yml")
    assert (result.status, result.out) == (1, "")
    assert "error[NO_REPOSITORY]" in result.err
    assert "--repo OWNER/NAME" in result.err
    assert kron("compile", "--repo", "nonsense", "a.yml").status == 2
    write(folder, "b.yml", 'on:\n  schedule:\n    - cron: "0 9 * * *"\n    - cron: every 5 minutes\n')
    assert kron("compile", "b.yml").status == 0  # these are the same for everyone


def test_the_repository_and_the_path_come_from_git(kron, folder):
    write(folder, "sub/.github/workflows/a.md", "---\non: daily\n---\n")
    for words in (["init", "-q"], ["remote", "add", "origin", "git@example.com:octo/site.git"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    out = json.loads(kron("compile", "--output", "json", "sub").out)
    assert out[0]["identifier"] == "octo/site/sub/.github/workflows/a.md"
    assert out[0]["cron"] == cron("daily", "sub/.github/workflows/a.md")
    other = json.loads(kron("compile", "--output", "json", "--repo", "a/b", "sub").out)
    assert other[0]["identifier"] == "a/b/sub/.github/workflows/a.md"


@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        ("git@example.com:octo/site.git", "octo/site"),
        ("https://example.com/octo/site", "octo/site"),
        ("https://user@example.com:8443/octo/site.git/", "octo/site"),
        ("ssh://git@example.com:22/octo/site.git", "octo/site"),
        ("https://example.com/group/sub/site.git", "sub/site"),
        ("/srv/git/octo/site.git", "octo/site"),
        ("site", None),
        ("", None),
        ("https://example.com/", None),
        ("git@example.com:octo/si te", None),
    ],
)
def test_owner_and_name_are_the_last_two_parts_of_a_remote(remote, expected):
    assert slug(remote) == expected


def test_a_file_outside_of_the_repository_has_no_identifier(kron, folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "a.yml"
    elsewhere.write_text("on: daily\n")
    result = kron("compile", "--repo", "octo/site", str(elsewhere))
    assert result.status == 1
    assert "error[OUTSIDE]" in result.err


PLAIN = """\
# {n}: generated
name: "workflow {n} – ünïcode"
{on}
permissions: {{contents: read}}
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - run: |
          echo "on: daily"   # kron: not a schedule
          echo 'cron: "0 0 * * *"'
"""
FORMS = (  # before and after
    ("on: {sentence}", 'on: {{schedule: [{{cron: "{cron}"}}]}}  # kron: {sentence}'),
    ("on:\n  schedule: {sentence}", 'on:\n  schedule: [{{cron: "{cron}"}}]  # kron: {sentence}'),
    ("on:\n  schedule:\n    - cron: {sentence}", 'on:\n  schedule:\n    - cron: "{cron}"  # kron: {sentence}'),
    (
        'on:\n  push:\n    branches: [main]\n  schedule:\n  - cron: "{sentence}"   # why\n  - cron: "0 4 1 * *"',
        'on:\n  push:\n    branches: [main]\n  schedule:\n  - cron: "{cron}"  # kron: {sentence}   # why\n'
        '  - cron: "0 4 1 * *"',
    ),
    (
        'on:\n  schedule:\n    - cron: "17 3 * * *"  # kron: {sentence}',
        'on:\n  schedule:\n    - cron: "{cron}"  # kron: {sentence}',
    ),
    (
        "on:\n  schedule:\n    - {sentence}\n    # between\n"
        "    - cron: '1 1 * * *' # kron: hourly\n  workflow_dispatch:",
        'on:\n  schedule:\n    - cron: "{cron}"  # kron: {sentence}\n    # between\n'
        "    - cron: '{hourly}' # kron: hourly\n  workflow_dispatch:",
    ),
)
WORDS = (
    "daily",
    "daily on weekdays",
    "daily around 14:00",
    "daily between 22:00 and 2:00 on weekdays",
    "weekly",
    "weekly on monday around 9am utc+9",
    "hourly",
    "every 2h",
    "bi-weekly",
    "every 10 minutes",
)


def generate(folder, count=200):
    """Workflow files of every form, YAML and Markdown, with either end of line -> what each must become."""
    draw, expected = random.Random(7), {}
    for n in range(count):
        name = f".github/workflows/w{n:03d}.{'md' if n % 3 == 0 else 'yml'}"
        sentence = draw.choice(WORDS)
        says = {"sentence": sentence, "cron": cron(sentence, name), "hourly": cron("hourly", name)}
        before, after = (_file(n, form.format(**says)) for form in FORMS[n % len(FORMS)])
        write(folder, name, before)
        expected[name] = after.encode()
    return expected


def _file(n, on):
    body = PLAIN.format(n=n, on=on)
    body = f"---\n{body}---\n# Workflow {n}\n\non: daily\n" if n % 3 == 0 else body
    return body.replace("\n", "\r\n") if n % 5 == 0 else body


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_200_files_are_written_once_and_nothing_but_their_schedules_changes(kron, folder):
    expected = generate(folder)
    words = ("compile", "--repo", "octo/site", "--at", AT, ".github")
    assert kron(*words, "--check").status == 1
    assert kron(*words, "--write").status == 0
    assert contents(folder) == expected  # byte for byte, and no other file
    second = kron(*words, "--write")
    assert contents(folder) == expected
    assert "rewritten" not in second.err
    checked = kron(*words, "--check")
    assert (checked.status, checked.out) == (0, second.out)
    for entry in json.loads(kron(*words, "--output", "json").out):
        assert entry["status"] in ("same", "fixed")
        assert entry["committed"] == entry["cron"]


def test_check_says_what_is_wrong_and_what_would_be_right(kron, folder):
    write(folder, "a.yml", 'on:\n  schedule:\n    - cron: "0 0 * * *"  # kron: daily\n')
    result = kron("compile", "--repo", "octo/site", "--check", "a.yml")
    assert result.status == 1
    assert f"a.yml:3 has 0 0 * * *; daily compiles to {cron('daily', 'a.yml')}" in result.err
    assert kron("compile", "--repo", "octo/site", "--check", "--write", "a.yml").status == 2


def test_a_linked_file_is_written_behind_its_link_with_its_permissions(kron, folder):
    real = write(folder, "real/a.yml", "on: daily\n")
    real.chmod(0o640)
    (folder / "b.yml").symlink_to(real)
    assert kron("compile", "--repo", "octo/site", "--write", "b.yml").status == 0
    assert (folder / "b.yml").is_symlink()
    assert f'"{cron("daily", "b.yml")}"' in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.req("FUZZY-R-SAFE-004")
def test_collisions_are_warned_about_on_stderr(kron, folder):
    write(folder, "a.yml", "on:\n  schedule:\n    - cron: daily\n    - cron: daily\n")
    result = kron("compile", "--repo", "octo/site", "a.yml")
    assert result.status == 0
    assert "warning[COLLISION]" in result.err
    assert "warning" not in result.out
