"""Terminal captures of docs/pictures: `make docs-pictures` runs each command and writes what it prints as an SVG."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs.page import DOCS, ROOT

CAPTURES = {
    "explain": [
        "kron",
        "explain",
        "0 0 * * * @win(after,3h) @seed(stable,salt=backup)",
        "--identity",
        "prod/db-backup",
        "--period",
        "2026-03-01T00:00:00Z",
    ],
    "spread": ["kron", "spread", "crontab", "--at", "2026-03-01T00:00:00Z"],
}
WIDTH = 100  # columns
STYLE = "<style>"
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def printed(command: list[str]) -> str:
    """Return what a command prints, run in the folder of the examples."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "examples", env=env, check=True)
    return done.stdout


def picture(name: str) -> str:
    """Return the capture of a command as SVG, without fonts of another host."""
    from rich.console import Console
    from rich.text import Text

    command = CAPTURES[name]
    shown = " ".join(f'"{word}"' if " " in word else word for word in command)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text.assemble(("$ ", "bold green"), (shown, "bold")), soft_wrap=False)
    for line in printed(command).splitlines():
        console.print(_painted(line))
    svg = console.export_svg(title=f"kron {command[1]}", unique_id=f"kron-{name}")
    return _without_fonts(svg)


def _painted(line: str) -> object:
    """A line of output: its label, bars and the mark in color."""
    from rich.text import Text

    text = Text(line)
    text.highlight_regex(r"^[a-z]+(?: words)? {2,}", "cyan")
    text.highlight_regex(r"[▁-▓]+", "green")
    text.highlight_regex(r"▲.*", "bold yellow")
    text.highlight_regex(r"[─·]+", "dim")
    return text


def _without_fonts(svg: str) -> str:
    """Drop the fonts that the export would load, and name those that a reader has."""
    head, _, rest = svg.partition(STYLE)
    style, _, body = rest.partition("</style>")
    kept = style[style.rindex("@font-face") :].partition("}")[2] if "@font-face" in style else style
    kept = kept.replace("Fira Code, monospace", FONT)
    head = re.sub(r"<!--.*?-->", "", head)
    text = f"{head}{STYLE}{kept}</style>{body}\n".replace("arial", "sans-serif")
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip()) + "\n"


def main() -> None:
    """Write every picture."""
    for name in CAPTURES:
        target = DOCS / "pictures" / f"{name}.svg"
        target.write_text(picture(name), encoding="utf-8")
        print(f"{target.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()
