"""The shell blocks of a page, run in order in one shell that stops at the first error."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.docs.page import Block, blocks

# A worker runs until it is stopped: here it starts, and is then asked to stop.
PRELUDE = """
set -euo pipefail
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
kron() {
    if [ "$1" = serve ]; then exec kron "$@"; fi  # a job of its own: the page ends the line with `&`
    if [ "$1" != worker ]; then command kron "$@"; return; fi
    : > worker.log
    command kron "$@" 2>> worker.log &
    for _ in $(seq 600); do grep -q worker_started worker.log && break; sleep 0.05; done
    kill -TERM $! && wait $!
}
curl() { command curl --silent --show-error --fail --retry 60 --retry-delay 1 --retry-connrefused "$@"; }
"""


def installs(block: Block) -> bool:
    """Whether a block only installs packages. The test of the wheel installs one."""
    return all(line.startswith("pip install ") for line in block.text.splitlines() if line)


def lines_of(block: Block) -> str:
    """The text of a block without the lines that install packages."""
    return "".join(line for line in block.text.splitlines(keepends=True) if not line.startswith("pip install "))


def run_shell(
    page: Path, folder: Path, replaced: dict[str, str] | None = None, *, only: str = "", without: str = "\0", **env: str
) -> list[str]:
    """Run the shell blocks of a page that are not illustrations, and return what each printed.

    Args:
        page: The page.
        folder: Working directory of the shell.
        replaced: Texts of the page, such as host names, with the texts that take their place.
        only: Run only the blocks with this text.
        without: Leave out the blocks with this text.
        **env: Variables of the environment.
    """
    shell = [block for block in blocks(page) if block.language == "sh" and not block.illustration]
    steps = [block for block in shell if only in block.text and without not in block.text]
    script = PRELUDE + "".join(f"echo; echo '=== {block.line}'\n{lines_of(block)}" for block in steps)
    for old, new in (replaced or {}).items():
        script = script.replace(old, new)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    given = {**os.environ, "PATH": path, "NO_COLOR": "1", "HOME": str(folder), **env}
    with (folder / "stderr").open("w+", encoding="utf-8") as errors:
        shell = subprocess.Popen(
            ["bash", "-c", script],
            cwd=folder,
            env=given,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        try:
            printed, _ = shell.communicate(timeout=100)
        finally:
            end_session(shell.pid)
            shell.wait(10)
        errors.seek(0)
        assert shell.returncode == 0, f"{page.name}\n{printed}\n{errors.read()}"
    return [part.partition("\n")[2].strip() for part in printed.split("\n=== ")[1:]]


def end_session(session: int) -> None:
    """Kill what is left of a shell's session: its jobs have process groups of their own."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except OSError:  # it ended meanwhile
            continue
