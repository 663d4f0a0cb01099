"""`kubectl kron status`: show what is wrong with KronJobs, or the conditions and recent periods of one KronJob."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import usage_error
from kron.apps.kubectl.kronjobs import read_all, read_one, status_of
from kron.apps.plural import plural
from kron.kube.kind import Body, place_of

_BAD = {"Ready": "False", "TemplateValid": "False", "Degraded": "True"}  # conditions that ask for attention
_RECENT = ("periodID", "outcome", "reason", "end", "job")


class Problem(NamedTuple):
    """What is wrong with a KronJob."""

    kronjob: str
    reason: str
    message: str


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Show the state. Return 1 if something is wrong."""
    if args.name and args.all_namespaces:
        raise usage_error("--all-namespaces excludes a name", "remove one of them")
    bodies = [read_one(args)] if args.name else read_all(args)
    problems = [problem for body in bodies for problem in problems_of(body)]
    if args.output == "json":
        screen.json({"kronjobs": _counts(bodies), "problems": [problem._asdict() for problem in problems]})
    elif args.name:
        _print_one(bodies[0], problems, screen)
    else:
        _print_all(bodies, problems, screen)
    return int(bool(problems))


def problems_of(body: Body) -> Iterator[Problem]:
    """Yield what is wrong with a KronJob: an operator that has not seen it, and conditions that are bad."""
    name, status = "/".join(place_of(body)), status_of(body)
    if status.get("observedGeneration") != body["metadata"].get("generation"):
        yield Problem(
            name, "NotSeen", "The operator has not seen the present spec. Does it run and watch the namespace?"
        )
    for kind, condition in _conditions(body).items():
        if condition.get("status") == _BAD.get(kind):
            yield Problem(name, str(condition.get("reason")), str(condition.get("message") or ""))


def _counts(bodies: Sequence[Body]) -> dict[str, Any]:
    suspended = sum(_conditions(body).get("Suspended", {}).get("status") == "True" for body in bodies)
    outcomes = Counter(str(status_of(body).get("lastOutcome") or "none") for body in bodies)
    active = sum(int(status_of(body).get("active") or 0) for body in bodies)
    return {
        "total": len(bodies),
        "suspended": suspended,
        "active": active,
        "lastOutcomes": dict(sorted(outcomes.items())),
    }


def _print_all(bodies: Sequence[Body], problems: Sequence[Problem], screen: Screen) -> None:
    counts = _counts(bodies)
    bad = len({problem.kronjob for problem in problems})
    screen.line(f"{plural(len(bodies), 'KronJob')}: {bad} with problems, {counts['suspended']} suspended or paused")
    screen.line(f"active Jobs: {counts['active']}")
    outcomes = ", ".join(f"{name} {number}" for name, number in counts["lastOutcomes"].items())
    screen.line(f"last outcomes: {outcomes or 'none'}")
    if problems:
        screen.line()
        screen.table(("KRONJOB", "PROBLEM", "MESSAGE"), [(p.kronjob, p.reason, _first_line(p)) for p in problems])


def _print_one(body: Body, problems: Sequence[Problem], screen: Screen) -> None:
    screen.line(f"KronJob {'/'.join(place_of(body))}")
    rows = [
        (kind, str(each.get("status")), str(each.get("reason") or "-"), str(each.get("lastTransitionTime") or "-"))
        for kind, each in _conditions(body).items()
    ]
    if rows:
        screen.table(("CONDITION", "STATUS", "REASON", "SINCE"), rows)
    for problem in problems:
        screen.note(f"{problem.reason}: {problem.message}")
    recent = [each for each in status_of(body).get("recent") or () if isinstance(each, dict)]
    if recent:
        screen.line()
        cells = [tuple(str(each.get(name) or "-") for name in _RECENT) for each in recent]
        screen.table(("PERIOD", "OUTCOME", "REASON", "END", "JOB"), cells)
    screen.line(f"next run: {status_of(body).get('nextRun') or 'none'}")


def _conditions(body: Body) -> dict[str, dict[str, Any]]:
    conditions = status_of(body).get("conditions") or ()
    return {str(each.get("type")): each for each in conditions if isinstance(each, dict)}


def _first_line(problem: Problem) -> str:
    return problem.message.partition("\n")[0]
