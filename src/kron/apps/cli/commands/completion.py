"""`kron completion`: print a completion script for bash, zsh or fish."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.cli.parser import parser

_BASH = """\
_kron() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words
    case ${{COMP_WORDS[1]}} in
{cases}
        *) words="{commands}" ;;
    esac
    [ "$COMP_CWORD" = 1 ] && words="{commands}"
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [[ $word != -* && $COMP_CWORD -gt 1 ]] && COMPREPLY+=($(compgen -f -- "$word"))
}}
complete -o filenames -F _kron kron krontab
"""
_ZSH = """\
#compdef kron krontab
autoload -U +X bashcompinit && bashcompinit
"""


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print the completion script for a shell."""
    screen.out.write({"bash": _bash, "zsh": lambda: _ZSH + _bash(), "fish": _fish}[args.shell]())
    return 0


def _bash() -> str:
    options = _options()
    cases = "\n".join(f'        {name}) words="{" ".join(words)}" ;;' for name, words in options.items())
    return _BASH.format(cases=cases, commands=" ".join(options))


def _fish() -> str:
    lines = ["complete -c kron -n __fish_use_subcommand -f"]
    for name, words in _options().items():
        lines.append(f"complete -c kron -n __fish_use_subcommand -a {name}")
        for word in words:
            flag = "-l" if word.startswith("--") else "-s" if word.startswith("-") else "-a"
            lines.append(f"complete -c kron -n '__fish_seen_subcommand_from {name}' {flag} {word.lstrip('-')}")
    return "\n".join([*lines, "complete -c krontab -w kron"]) + "\n"


def _options() -> dict[str, list[str]]:
    """Return the commands, each with its options and the values of its positional choices."""
    options_by_command: dict[str, list[str]] = {}
    for action in parser()._actions:
        for name, command in (action.choices or {}).items() if isinstance(action.choices, dict) else ():
            words = [option for inner in command._actions for option in inner.option_strings]
            words += [str(c) for inner in command._actions if not inner.option_strings for c in inner.choices or ()]
            first, _, second = name.partition(" ")
            options_by_command[first] = [*options_by_command.get(first, ()), *([second] if second else []), *words]
    return options_by_command
