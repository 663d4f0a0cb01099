"""`krontab edit`: edit a copy of a table, check it, and install it."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from kron.apps.cli.console import Screen
from kron.apps.host.table_file import MAX_FILE_BYTES
from kron.apps.krontab.edited_table import EditedTable, edited_table
from kron.apps.krontab.question import confirmed
from kron.errors import InvalidInput, NotFound

MAX_EDITS = 1_000
_NEW_TABLE = b'# every day at 4: 0 4 * * * @tz(Europe/Paris) @policy(deadline=1h) name=backup command="..."\n'


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Edit the table until it is valid. Returns 1 if it was not installed; the copy is then kept."""
    table = edited_table(args)
    draft = Path(tempfile.mkdtemp(prefix="krontab-"), table.name or "table")
    try:
        draft.write_bytes(_NEW_TABLE if table.old is None else table.old)
        is_done = _edit(table, draft, screen)
    except BaseException:
        _keep(draft, table.old, screen)
        raise
    if not is_done:
        _keep(draft, table.old, screen)
        return 1
    shutil.rmtree(draft.parent, ignore_errors=True)
    return 0


def _edit(table: EditedTable, draft: Path, screen: Screen) -> bool:
    """Return whether nothing is left to do: the table was installed, or was not changed."""
    first = draft.read_bytes()
    for _ in range(MAX_EDITS):
        _run_editor(draft)
        content = _read(draft)
        if content == first:
            screen.note(f"table {table.name} not changed")
            return True
        if table.install(content, screen):
            return True
        if not confirmed("edit again?", screen, default=True):
            break
    return False


def _run_editor(path: Path) -> None:
    names = (os.environ.get("VISUAL"), os.environ.get("EDITOR"), shutil.which("sensible-editor"), shutil.which("vi"))
    editor = next((name for name in names if name), None)
    if editor is None:
        raise NotFound("NOT_FOUND", "no editor found", hint="set EDITOR, such as EDITOR=nano")
    try:
        status = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode  # noqa: S603
    except (OSError, ValueError) as error:
        raise NotFound("NOT_FOUND", f"editor {editor!r}: {error}", hint="set EDITOR, such as EDITOR=nano") from None
    if status:
        hint = "the table stays as it is"
        raise InvalidInput("BAD_FILE", f"editor {editor!r} ended with status {status}", hint=hint)


def _read(draft: Path) -> bytes:
    try:
        with draft.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise NotFound("NOT_FOUND", f"{draft}: {error.strerror}", hint="save the copy under its own name") from None


def _keep(draft: Path, old: bytes | None, screen: Screen) -> None:
    """Keep a copy that has edits, and say where it is."""
    if draft.exists() and draft.read_bytes() not in (old, _NEW_TABLE):
        screen.note(f"table {draft.name} stays as it is; your edits are in {draft}")
    else:
        shutil.rmtree(draft.parent, ignore_errors=True)
