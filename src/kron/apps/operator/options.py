"""Options of `kron operator run`."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass

from kron.apps.operator.definition import OperatorDefaults
from kron.apps.wiring import check_url
from kron.errors import UsageError
from kron.language.duration import read_duration
from kron.language.fault import Fault
from kron.timing.schedule.policy import MILLISECOND

_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_PREFIX = re.compile(r"[A-Za-z0-9._-]{1,63}/")


@dataclass(frozen=True, slots=True)
class OperatorOptions:
    """Options of an operator."""

    store: str
    namespaces: tuple[str, ...] = ()  # empty: all
    defaults: OperatorDefaults = OperatorDefaults()  # noqa: RUF009  a value that never changes
    qps: float = 200.0
    burst: int = 400
    listen: tuple[str, int] | None = None
    events: str = "changes"
    retention_days: int = 90
    log: str = "auto"
    metrics_per_job: bool = False
    dry_run: bool = False
    stuck_after_ms: int = 6 * 3_600_000


def read_options(args: argparse.Namespace) -> OperatorOptions:
    """Return the options of a command line.

    Raises:
        UsageError: An option has an invalid value.
        InvalidSetting: The store URL is invalid.
    """
    namespaces = tuple(name.strip() for name in args.namespaces.split(",") if name.strip())
    wrong = next((name for name in namespaces if not _NAMESPACE.fullmatch(name)), None)
    if wrong is not None:
        raise _bad("--namespaces", f"{wrong!r} is not a namespace", "use names such as shop,billing")
    prefix = args.identity_prefix
    if prefix and not _PREFIX.fullmatch(prefix):
        raise _bad("--identity-prefix", f"{prefix!r} is not a prefix", "use a name and a slash, such as east/")
    deadline = _duration("--default-deadline", args.default_deadline)
    if args.qps < 1 or args.burst < 1 or args.retention_days < 0:
        raise _bad("--qps, --burst, --retention-days", "a value is too small", "use a larger one")
    if args.dry_run and args.listen:
        raise _bad("--listen", "a dry run answers no probes", "omit --listen or --dry-run")
    return OperatorOptions(
        check_url(args.store),
        namespaces,
        OperatorDefaults(prefix, deadline),
        args.qps,
        args.burst,
        _address(args.listen) if args.listen else None,
        args.events,
        args.retention_days,
        args.log,
        args.metrics_per_job,
        args.dry_run,
        _duration("--stuck-after", args.stuck_after) // MILLISECOND,
    )


def _duration(option: str, text: str) -> int:
    """Return a duration in nanoseconds."""
    try:
        return read_duration(text)
    except Fault as fault:
        raise _bad(option, fault.message, "use a duration such as 5m") from None


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and int(port) < 65_536):
        raise _bad("--listen", f"{text!r} is not an address", "use HOST:PORT, such as 0.0.0.0:8080")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104  as in `kron serve`


def _bad(option: str, problem: str, hint: str) -> UsageError:
    return UsageError("USAGE", f"{option}: {problem}", hint=hint)
