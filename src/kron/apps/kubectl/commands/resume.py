"""`kubectl kron resume`: resume a KronJob."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.kubectl.kronjobs import annotate
from kron.kube.names import PAUSE


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Ask the operator to end a pause."""
    place = annotate(args, {PAUSE: None})
    screen.line(f"KronJob {'/'.join(place)}: resume requested")
    return 0
