"""`kron import cronjobs --switch` and `--switch-back`: a KronJob takes over from its CronJob, or gives back."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kron.apps.cli.console import Screen
from kron.apps.cli.cronjob_sources import import_options
from kron.apps.cli.inputs import usage_error
from kron.kube.kind import Place
from kron.kube.session import ask

if TYPE_CHECKING:
    from kron.kube.api import Api


def switch(args: argparse.Namespace, screen: Screen) -> int:
    """Switch one CronJob. Each step is told when it is done. A repeated command continues where it was."""
    place = _place_of(args)
    options = import_options(args)

    def tell(text: str) -> None:
        screen.line(text)
        screen.out.flush()  # a switch takes a minute

    async def use(api: Api, _: str) -> None:
        from kron.apps.operator.switch.step import switch_back_step, switch_step
        from kron.apps.operator.switch.switcher import Switcher
        from kron.kube.server_clock import server_clock

        switcher = Switcher(api, place, options, tell, await server_clock(api))
        await switcher.run(switch_step if args.switch else switch_back_step)

    ask(use, args.context)
    return 0


def _place_of(args: argparse.Namespace) -> Place:
    if args.switch and args.switch_back:
        raise usage_error("--switch excludes --switch-back", "remove one of them")
    option, text = ("--switch", args.switch) if args.switch else ("--switch-back", args.switch_back)
    others = {"-f": args.file, "-n": args.namespace, "-A": args.all_namespaces, "--keep-going": args.keep_going}
    others |= {"--shadow": args.shadow}
    excluded = [name for name, value in others.items() if value] + (["-o"] if args.output != "text" else [])
    if excluded:
        raise usage_error(f"{option} excludes {excluded[0]}", f"remove {excluded[0]}")
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise usage_error(f"{option}: {text!r} is not a namespace and a name", "write NS/NAME, such as billing/report")
    return Place(namespace, name)
