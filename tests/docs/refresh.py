"""Writes into the pages what their examples print now: `make docs`. Read the difference before you keep it."""

import json
import os
import shutil
import tempfile
from itertools import zip_longest
from pathlib import Path

from kron.apps.service.app import interface
from tests.docs.page import DOCS, PAGES, ROOT, blocks
from tests.docs.reference import GENERATED
from tests.docs.reference.client_types import SOURCES
from tests.docs.test_examples import commands, run_command, run_python
from tests.operator import manifest_files


def refreshed(page: Path, folder: Path) -> str:
    text, names = page.read_text(encoding="utf-8"), {"__name__": "__main__"}
    found = blocks(page)
    for block, following in zip_longest(found, found[1:]):
        if block.illustration:
            continue
        if block.language == "python":
            printed = run_python(block, names, str(page))
            if following and following.language == "text":
                pair = f"{block.text}```\n\n```text\n"
                text = text.replace(pair + following.text, pair + printed, 1)
        elif block.language == "console":
            shown = "".join(f"$ {command}\n{run_command(command, folder)}" for command, _ in commands(block))
            text = text.replace(f"```console\n{block.text}", f"```console\n{shown}", 1)
    return text


def interface_to(path: Path) -> None:
    path.write_text(json.dumps(interface(), indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    interface_to(DOCS / "openapi.json")
    for name, generate in GENERATED.items():
        (DOCS / name).write_text(generate(), encoding="utf-8")
    manifest_files.write()
    for path, generate in SOURCES.items():
        path.write_text(generate(), encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
        os.chdir(folder)
        for page in PAGES:
            text = refreshed(page, folder)
            if text != page.read_text(encoding="utf-8"):
                page.write_text(text, encoding="utf-8")
                print(f"{page.relative_to(ROOT)} rewritten")


if __name__ == "__main__":
    main()
