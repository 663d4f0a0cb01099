"""`kubectl kron run`: run a KronJob now."""

from __future__ import annotations

import argparse
import uuid

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import usage_error
from kron.apps.kubectl.kronjobs import annotate
from kron.kube.names import RUN


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Ask the operator for a run. A repeated request starts no new run."""
    if args.request is not None and not args.request.strip():
        raise usage_error("the request has no name", "use a name such as release-42, or omit --request")
    request = args.request or f"kubectl-{uuid.uuid4().hex[:12]}"
    place = annotate(args, {RUN: request})
    screen.line(f"KronJob {'/'.join(place)}: run requested as {request}")
    return 0
