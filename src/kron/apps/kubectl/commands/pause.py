"""`kubectl kron pause`: pause a KronJob."""

from __future__ import annotations

import argparse
import getpass
import json

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import instant_argument, now, usage_error
from kron.apps.kubectl.kronjobs import annotate
from kron.kube.names import PAUSE
from kron.timing.zone import rfc3339


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Ask the operator for a pause."""
    until = ""
    if args.until is not None:
        end = instant_argument(args.until)
        if end <= now(args):
            raise usage_error(f"pause end {rfc3339(end)} is in the past", "use a future time, or omit --until")
        until = rfc3339(end)
    who = _user() if args.who is None else args.who
    place = annotate(args, {PAUSE: _pause_text(args.note, who, until)})
    screen.line(f"KronJob {'/'.join(place)}: pause requested" + (f" until {until}" if until else ""))
    return 0


def _user() -> str:
    """Return the name of this user; empty if the host does not know it, as in a container."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return ""


def _pause_text(note: str, who: str, until: str) -> str:
    """Return the value of the annotation. Empty fields are left out."""
    fields = {"note": note, "who": who, "until": until}
    return json.dumps({name: value for name, value in fields.items() if value}, ensure_ascii=False)
