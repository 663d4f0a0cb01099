"""`kron operator`: print what a Kubernetes cluster needs for KronJobs."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.operator.crd import resource_definition
from kron.apps.operator.yaml_text import to_yaml


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print a manifest."""
    screen.block(to_yaml(resource_definition()).rstrip("\n"))
    return 0
