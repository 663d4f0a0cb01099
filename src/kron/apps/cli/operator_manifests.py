"""`kron operator manifests`: its options, and what it prints."""

from __future__ import annotations

import argparse
import re
from typing import Any

from kron.apps.cli.console import Screen
from kron.apps.cli.options import identity
from kron.apps.operator.installation import DEFAULT_DEADLINE, IMAGE, NAME, SQLITE, STORES, Installation

_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_EXAMPLES = """\
example:
  kron operator manifests | kubectl apply -f -
  kron operator manifests --namespaces billing,shop --store postgres
"""


def add_manifests(verbs: Any) -> None:
    """Add the verb to the command `operator`."""
    summary = "print all objects of an installation of the operator as YAML"
    command = verbs.add_parser(
        "manifests",
        help=summary,
        description=f"P{summary[1:]}.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--namespaces", metavar="NAMES", default="", help="namespaces, with commas (default: all)")
    store_help = f"sqlite: one replica with a volume; postgres: several replicas (default {SQLITE})"
    command.add_argument("--store", choices=STORES, default=SQLITE, help=store_help)
    command.add_argument("--namespace", metavar="NS", default=NAME, help=f"namespace of the operator (default {NAME})")
    command.add_argument("--image", default=IMAGE, help=f"image of the operator (default {IMAGE})")
    prefix_help = "beginning of all identities, such as east/, where clusters share a store"
    command.add_argument("--identity-prefix", metavar="TEXT", default="", type=identity, help=prefix_help)
    deadline_help = f"deadline of KronJobs that name none (default {DEFAULT_DEADLINE})"
    command.add_argument("--default-deadline", metavar="DURATION", default=DEFAULT_DEADLINE, help=deadline_help)
    command.set_defaults(run=print_manifests)


def print_manifests(args: argparse.Namespace, screen: Screen) -> int:
    """Print the objects."""
    from kron.apps.cli.inputs import usage_error
    from kron.apps.operator.manifests import manifests
    from kron.apps.operator.yaml_text import to_documents
    from kron.language.duration import read_duration
    from kron.language.fault import Fault

    namespaces = tuple(dict.fromkeys(filter(None, args.namespaces.split(","))))
    for name in (*namespaces, args.namespace):
        if not _NAMESPACE.fullmatch(name):
            raise usage_error(f"{name!r} is not the name of a namespace", "use lowercase letters, digits and hyphens")
    try:
        read_duration(args.default_deadline)
    except Fault as fault:
        raise usage_error(fault.message, fault.hint or "use a duration such as 5m") from None
    installation = Installation(
        namespaces, args.store, args.namespace, args.image, args.identity_prefix, args.default_deadline
    )
    screen.block(to_documents(manifests(installation)).rstrip("\n"))
    return 0
