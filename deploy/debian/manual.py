"""Manual pages kron(1), krond(8), krontab(1) and krontab(5), from the parsers of `--help` and from the reference page.

python -m deploy.debian.manual FOLDER [DAY]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

from deploy.debian.roff import entry, example, from_markdown, joined, marked, plain, section

from kron._version import __version__
from kron.apps.cli.parser import parser as kron_parser
from kron.apps.daemon.options import parser as daemon_parser
from kron.apps.krontab.parser import parser as krontab_parser

ROOT = Path(__file__).parents[2]
FORMAT_PAGE = ROOT / "docs" / "reference" / "krontab.md"
GUIDE_PAGE = ROOT / "docs" / "how-to" / "krond.md"
FILES = (  # of the package
    ("/etc/krond.d", "Tables of the host."),
    ("/var/lib/krond", "Records of all periods (state.db), and the command journal with captured output."),
    ("~/.config/krond, ~/.local/state/krond", "Tables and records of krond \\-\\-user."),
)


def pages(day: str) -> dict[str, str]:
    """Return the pages of a day, such as 2026-03-01, by file name."""
    return {
        "kron.1": _program(kron_parser(), day, "krontab (1), krond (8)"),
        "krond.8": _krond(day),
        "krontab.1": _program(krontab_parser(), day, "krontab (5), krond (8), crontab (1)"),
        "krontab.5": _format(day),
    }


def _krond(day: str) -> str:
    command = daemon_parser()
    guide = GUIDE_PAGE.read_text(encoding="utf-8")
    trust = guide.partition("## Know which files krond trusts\n")[2].partition("\n## ")[0]
    parts = [
        *_head("krond", 8, day, command.description or ""),
        *(section("Synopsis"), _usage(command)),
        *(section("Description"), plain(command.description or "")),
        *(section("Options"), *map(_option, _options(command))),
        *_epilog(command.epilog or ""),
        *(section("Trusted files"), *from_markdown(trust.replace("The state folder is", "\nThe state folder is"))),
        *_tail("krontab (1), krontab (5), systemd.service (5), cron (8)"),
    ]
    return joined(parts)


def _program(command: argparse.ArgumentParser, day: str, others: str) -> str:
    parts = [
        *_head(command.prog, 1, day, command.description or ""),
        *(section("Synopsis"), f"\\fB{command.prog}\\fR COMMAND [OPTIONS]"),
        *(section("Description"), plain(command.description or "")),
        section("Commands"),
    ]
    for each in _commands(command):
        parts += [f'.SS "{plain(each.prog)}"', plain(each.description or ""), _usage(each)]
        parts += [_argument(action) for action in each._actions if not action.option_strings]
        parts += map(_option, _options(each))
    parts += [*_epilog(command.epilog or ""), *_tail(others)]
    return joined(parts)


def _format(day: str) -> str:
    title, _, body = FORMAT_PAGE.read_text(encoding="utf-8").partition("\n")
    parts = [*_head("krontab", 5, day, f"format of {title.removeprefix('# ')}"), section("Description")]
    return joined([*parts, *from_markdown(body), *_tail("krontab (1), krond (8), crontab (5)")])


def _head(name: str, number: int, day: str, purpose: str) -> list[str]:
    first = purpose[:1].lower() + purpose[1:].rstrip(".")
    heading = f'.TH "{name.upper()}" "{number}" "{day}" "Kron {__version__}" "Kron"'
    return [heading, section("Name"), f"{name} \\- {plain(first)}"]


def _tail(others: str) -> list[str]:
    references = [f".BR {name}" for name in others.split(", ")]
    files = [entry(f"\\fI{plain(path)}\\fR", text) for path, text in FILES]
    return [section("Files"), *files, section("See also"), " ,\n".join(references)]


def _epilog(text: str) -> Iterator[str]:
    """Yield the sections of an epilog: a title with a colon, then indented lines."""
    for block in text.strip().split("\n\n"):
        title, _, lines = block.partition("\n")
        if title.endswith(":"):
            yield section(title.removesuffix(":"))
            yield example(dedent(lines).split("\n"))
        else:
            yield f".PP\n{plain(block)}"


def _usage(command: argparse.ArgumentParser) -> str:
    options = " ".join(f"[{_forms(action)}]" for action in _options(command))
    arguments = " ".join(_metavar(action) for action in command._actions if not action.option_strings)
    return f".PP\n\\fB{plain(command.prog)}\\fR {options} {arguments}".rstrip()


def _option(action: argparse.Action) -> str:
    choices = f" One of {', '.join(map(str, action.choices))}." if action.choices else ""
    return entry(_forms(action), marked(_sentence(action.help) + choices))


def _argument(action: argparse.Action) -> str:
    return entry(f"\\fI{plain(_metavar(action))}\\fR", marked(_sentence(action.help)))


def _forms(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" \\fI{plain(_metavar(action))}\\fR"
    return ", ".join(f"\\fB{plain(name)}\\fR{value}" for name in action.option_strings)


def _metavar(action: argparse.Action) -> str:
    return str(action.metavar or action.dest.upper())


def _sentence(text: str | None) -> str:
    return f"{(text or '')[:1].upper()}{(text or '')[1:]}."


def _options(command: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in command._actions if action.option_strings and action.dest != "help"]


def _commands(command: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                below = list(_commands(each))
                yield from below or [each]


def write_pages(folder: Path, day: str) -> list[Path]:
    """Write the pages into a folder, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in pages(day).items():
        paths.append(folder / name)
        paths[-1].write_text(text, encoding="utf-8")
    return paths


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "2026-01-01")
