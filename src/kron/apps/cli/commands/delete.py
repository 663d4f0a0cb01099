"""`kron delete`: delete a job of a store."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.cli.records import print_result
from kron.apps.cli.store_request import actor_of, ask_store


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Delete the job and print its name. A process that declares the job defines it again when it starts."""
    ask_store(args, lambda registrar: registrar.delete(args.job, actor_of(args)))
    return print_result(args, screen, {"id": args.job, "deleted": True}, [args.job])
