"""`kubectl kron why`: show the outcome of a recent period and its reason, as the status of the KronJob tells."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import instant_argument
from kron.apps.kubectl.kronjobs import decision_of, read_one, status_of
from kron.errors import KronError, NotFound
from kron.kube.kind import Body, place_of
from kron.language.record import verify
from kron.rules.outcome import REASON_TEXT, Reason
from kron.timing.zone import rfc3339

_LABEL_WIDTH = 10


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print the report of one period."""
    body = read_one(args)
    period = _period(body, args)
    if args.output == "json":
        conditions = status_of(body).get("conditions") or []
        screen.json({"period": period, "explanation": _explanation(period), "conditions": conditions})
        return 0
    screen.line(f"KronJob {'/'.join(place_of(body))}")
    for label, text in _lines(body, period):
        screen.line(f"{label.ljust(_LABEL_WIDTH)}{text}")
    return 0


def _period(body: Body, args: argparse.Namespace) -> Body | None:
    """Return the period that the command line names, or the last one; None if the status has none."""
    periods = list(_periods(status_of(body)))
    if args.period is None:
        return periods[0] if periods else None
    wanted = rfc3339(instant_argument(args.period))
    found = next((each for each in periods if each.get("periodID") == wanted), None)
    if found is None:
        known = ", ".join(str(each.get("periodID")) for each in periods) or "none"
        hint = f"its periods: {known}; for others, run kron why in a pod of the operator"
        raise NotFound("NOT_FOUND", f"the status of the KronJob has no period {wanted}", hint=hint)
    return found


def _periods(status: Body) -> Iterator[Body]:
    """Yield the periods of a status, the newest first. The last one can be one that had no run."""
    recent = [each for each in status.get("recent") or () if isinstance(each, dict)]
    last = str(status.get("lastNominalTime") or "")
    if last and all(str(each.get("periodID")) < last for each in recent):
        fields = {"outcome": "lastOutcome", "reason": "lastReason", "chosen": "lastChosenTime"}
        yield {"periodID": last, **{name: status[field] for name, field in fields.items() if status.get(field)}}
    yield from recent


def _lines(body: Body, period: Body | None) -> Iterator[tuple[str, str]]:
    status = status_of(body)
    if period is None:
        yield "period", "none: the operator has not handled a period yet"
    else:
        yield "period", str(period.get("periodID"))
        reason = f" ({period['reason']})" if period.get("reason") else ""
        yield "outcome", f"{period.get('outcome') or 'none yet'}{reason}"
        if _explanation(period):
            yield "reason", _explanation(period)
        yield from ((name, str(period[name])) for name in ("chosen", "job", "end") if period.get(name))
        yield from _decision_lines(body, period)
    yield "next", str(status.get("nextRun") or "no run is planned")
    for condition in status.get("conditions") or ():
        message = f": {condition['message']}" if condition.get("message") else ""
        yield str(condition.get("type")), f"{condition.get('status')} ({condition.get('reason')}){message}"


def _explanation(period: Body | None) -> str:
    reason = str((period or {}).get("reason") or "")
    return REASON_TEXT[Reason(reason)] if reason in list(Reason) else ""


def _decision_lines(body: Body, period: Body) -> Iterator[tuple[str, str]]:
    """Yield whether the decision in the status gives the same time here."""
    decision = decision_of(body)
    if decision.get("period_id") != period.get("periodID"):
        return
    try:
        is_same = not verify(decision)
    except KronError as error:
        yield "decision", f"cannot be verified: {error.message}"
    else:
        yield "decision", "verified: its text gives the same time here" if is_same else "differs: see kron verify"
