"""Every example in the documentation is run, and prints what the page says that it prints."""

import contextlib
import gc
import io
import os
import shutil
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.docs.page import PAGES, ROOT, Block, blocks

RUN = ("python", "console")
SHOWN = ("text", "")  # what a block above printed, or a picture


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_the_examples_of_a_page_do_what_it_says(page, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    found = blocks(page)
    for block, following in zip_longest(found, found[1:]):
        where = f"{ids(page)}:{block.line}"
        if block.illustration:
            continue
        if block.language == "python":
            printed = run_python(block, names, where)
            if following and following.language == "text":
                assert printed == following.text, where
        elif block.language == "console":
            for command, shown in commands(block):
                assert run_command(command, tmp_path) == shown, f"{where}: {command}"
    names.clear()
    gc.collect()  # what a page leaves open is reported here, by Python 3.13, and not in the test of another page


def test_every_language_of_a_block_is_one_that_is_run_or_only_shown():
    only_shown = {"krontab", "mermaid", "toml", "yaml", "json", "sql", "sh"}
    for page in PAGES:
        for block in blocks(page):
            assert block.language in {*RUN, *SHOWN, *only_shown}, f"{ids(page)}:{block.line}"


def run_python(block: Block, names: dict[str, object], where: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * block.line + block.text, where, "exec"), names)
    return out.getvalue()


def commands(block: Block):
    """Each `$ command` of a console block, with the lines that it prints."""
    for part in ("\n" + block.text).split("\n$ ")[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = command[:-1] + more.removeprefix("> ")
        yield command, shown if shown.endswith("\n") or not shown else shown + "\n"


def run_command(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1"}
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=folder, env=env, timeout=60, check=False
    )
    assert result.returncode in (0, 1), result.stderr
    return result.stdout
