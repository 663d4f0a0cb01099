"""The page on the command line, from its argparse parser."""

import argparse
from collections.abc import Iterator
from textwrap import dedent

from kron.apps.cli.parser import parser
from kron.apps.daemon.options import parser as daemon_parser
from kron.apps.krontab.parser import parser as krontab_parser
from kron.apps.kubectl.parser import parser as kubectl_parser
from tests.docs.reference.markdown import NOTE, code, sentence, table

HEAD = f"""\
# Command line

{NOTE}

`kron COMMAND --help` prints the options of a command. `krond` is the [host daemon](../how-to/krond.md), and `krontab`
is the command of people who use it. Commands that `krontab` does not have are those of `kron`: `krontab lint` is
`kron lint`.

| Short form | Command |
|---|---|
| `krontab -l [TABLE]` | `krontab list` |
| `krontab -e [TABLE]` | `krontab edit` |
| `krontab -r TABLE` | `krontab remove` |
| `krontab FILE`, `krontab -` | `krontab install` |

`kubectl kron` is the command of people who use [KronJobs](../how-to/from-cronjobs.md). kubectl runs the program
`kubectl-kron`, which is installed with `kron`.

`krontab next "0 4 * * *"`, and `next`, `why`, `pause` and `resume` with `-f`, `--store` or another option for the
input, are the commands of `kron`.

| Exit code | Meaning |
|---:|---|
| 0 | Success |
| 1 | The input is invalid, something was not found, a check failed, or a question was answered with no |
| 2 | The command line is wrong, `kron audit` cannot read the store, or `kron tzdiff` found a difference |
| 130 | Interrupted with Ctrl-C |

| Environment variable | Meaning |
|---|---|
| `KRON_STORE` | Store URL, for `kron why`, `audit`, `jobs`, `runs`, `pause`, `resume`, `trigger` and `delete` |
| `KRON_URL` | URL of the service, for `kron schedules` (default `http://127.0.0.1:8080`) |
| `KRON_TOKEN` | Token for `kron schedules` |
| `KRON_*` | [Settings](settings.md) of `kron serve` and `kron worker` |
| `NO_COLOR` | If set, output has no colors |

"""
EXAMPLES = {  # of commands whose parser has none
    "kron audit-log verify": "kron audit-log verify /var/log/kron/audit.jsonl",
    "kron operator crd": "kron operator crd",
    "kron schedules list": "kron schedules list --prefix billing. -o json",
    "kron schedules get": "kron schedules get report",
    "kron schedules apply": "kron schedules apply -f schedules.toml --dry-run",
    "kron schedules delete": 'kron schedules delete report --note "replaced by report2"',
    "kron schedules pause": "kron schedules pause report --until 2026-03-02T00:00:00Z",
    "kron schedules resume": "kron schedules resume report",
    "kron schedules next": "kron schedules next report -n 10",
    "kron schedules why": "kron schedules why report --at 2026-03-01T03:00:00Z",
    "kron schedules runs": "kron schedules runs report -n 50",
    "kron schedules trigger": "kron schedules trigger report --key release-42",
    "kron schedules backfill": "kron schedules backfill etl --first 2026-03-01T00:00:00Z --last 2026-03-02T00:00:00Z",
    "kron schedules dead-letters": "kron schedules dead-letters --prefix billing. -o name",
    "kron schedules redrive": "kron schedules redrive 4bf83a6f",
}


def page() -> str:
    """Return the page."""
    top = parser()
    commands = [*_commands(top), daemon_parser(), *_commands(krontab_parser()), *_commands(kubectl_parser())]
    index = table(
        ["Command", "Purpose"], [[f"[`{_name(c)}`](#{_anchor(c)})", sentence(c.description or "")] for c in commands]
    )
    own = table(["Option", "Meaning"], [[_option(each), sentence(each.help or "")] for each in _options(top)])
    return HEAD + own + "\n" + index + "\n" + "\n".join(map(_section, commands))


def documented() -> dict[str, list[str]]:
    """Return the options of each command, as a reader types them."""
    return {
        _name(each): [name for option in _options(each) for name in option.option_strings]
        for each in (*_commands(parser()), *_commands(krontab_parser()), *_commands(kubectl_parser()))
    }


def _commands(command: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The commands below one, without those that only lead to others."""
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                below = list(_commands(each))
                yield from below or [each]


def _section(command: argparse.ArgumentParser) -> str:
    arguments = [each for each in command._actions if not each.option_strings]
    usage = " ".join([_name(command), "[OPTIONS]", *map(_argument, arguments)])
    parts = [f"## {_name(command)}\n", f"{sentence(command.description or '')}\n", f"```text\n{usage}\n```\n"]
    if arguments:
        rows = [[code(_metavar(each)), _choices(each) + sentence(each.help or "")] for each in arguments]
        parts.append(table(["Argument", "Meaning"], rows))
    rows = [[_option(each), _default(each), _choices(each) + sentence(each.help or "")] for each in _options(command)]
    parts.append(table(["Option", "Default", "Meaning"], rows))
    parts.append(f"Example:\n\n```sh\n{_example(command)}\n```\n")
    return "\n".join(parts)


def _example(command: argparse.ArgumentParser) -> str:
    return dedent((command.epilog or "").rpartition("example:")[2]).strip() or EXAMPLES[_name(command)]


def _argument(action: argparse.Action) -> str:
    name = _metavar(action)
    return {"?": f"[{name}]", "+": f"{name}...", "*": f"[{name}...]"}.get(str(action.nargs), name)


def _options(command: argparse.ArgumentParser) -> list[argparse.Action]:
    return [each for each in command._actions if each.option_strings and each.dest != "help"]


def _name(command: argparse.ArgumentParser) -> str:
    return command.prog


def _anchor(command: argparse.ArgumentParser) -> str:
    return command.prog.replace(" ", "-")


def _option(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {_metavar(action)}"
    return "<br>".join(code(name + value) for name in action.option_strings)


def _metavar(action: argparse.Action) -> str:
    return str(action.metavar or action.dest.upper())


def _choices(action: argparse.Action) -> str:
    return f"One of {', '.join(map(code, action.choices))}. " if action.choices else ""


def _default(action: argparse.Action) -> str:
    if action.required:
        return "required"
    return code(action.default) if action.default not in (None, False, "", []) else ""
