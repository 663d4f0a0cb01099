"""`kron operator`: run the Kubernetes operator, or print what a cluster needs for KronJobs."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.operator.crd import resource_definition
from kron.apps.operator.yaml_text import to_yaml


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Run the operator, or print a manifest."""
    if args.verb == "run":
        return _run(args)
    screen.block(to_yaml(resource_definition()).rstrip("\n"))
    return 0


def _run(args: argparse.Namespace) -> int:
    from kron.apps.operator.options import read_options
    from kron.apps.operator.process import run_operator

    return run_operator(read_options(args))
