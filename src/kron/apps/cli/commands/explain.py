"""`kron explain`: explain how a period's run time was chosen, with a chart of its window."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import Subject, now, subjects, usage, with_identity
from kron.apps.cli.window_chart import picture
from kron.errors import NotFound
from kron.language.canonical import unparse
from kron.language.english import describe, english_policy
from kron.language.record import to_record
from kron.timing.decision import Decision, count_rejections, decide
from kron.timing.period import Period, next_nominal
from kron.timing.schedule.sampling import Strategy
from kron.timing.schedule.window import SECOND
from kron.timing.zone import instant_of, rfc3339


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Explain one decision."""
    found = subjects(args, screen)
    if len(found) > 1:
        names = ", ".join(subject.name for subject in found[:10])
        raise usage(f"{args.file} has {len(found)} jobs", f"add the name of one job: {names}")
    subject = with_identity(found[0])
    decision = _decision(args, subject)
    if args.output == "json":
        words = {"english": describe(subject.schedule), "policy": english_policy(subject.schedule.policy)}
        screen.json({**to_record(decision), **words})
    else:
        _show(decision, subject, screen)
    return 0


def _decision(args: argparse.Namespace, subject: Subject) -> Decision:
    schedule = subject.schedule
    if args.period is None:
        return subject.upcoming(now(args), 1)[0]
    try:
        wanted = instant_of(args.period)
    except ValueError as error:
        raise usage(str(error), "use a period such as 2026-03-01T00:00:00Z") from None
    nominal = next_nominal(schedule, wanted - 1)
    if nominal != wanted:
        hint = f"the next period is {rfc3339(nominal)}" if nominal is not None else "it has no later period"
        raise NotFound("NOT_FOUND", f"{args.period} is not a period of this schedule", hint=hint)
    return decide(schedule, Period(wanted), subject.identity)


def _show(decision: Decision, subject: Subject, screen: Screen) -> None:
    schedule, zone = decision.schedule, decision.schedule.zone

    def row(name: str, value: str) -> None:
        screen.line(f"{screen.paint(screen.out, 'dim', name.ljust(9))} {value}")

    def both(t: int) -> str:
        return f"{zone.wall(t).text}   {rfc3339(t)}"

    row("schedule", unparse(schedule))
    row("in words", describe(schedule))
    row("policy", english_policy(schedule.policy))
    if subject.identity != "-":
        row("identity", decision.identity)
    row("nominal", both(decision.period.nominal))
    if schedule.window.duration:
        row("window", f"{both(decision.window.start // SECOND)}   to")
        row("", both(decision.window.end // SECOND))
        row("seed", f"{decision.seed_hash[:16]}…  ({_seed(decision)})")
    if decision.chosen is None:
        row("chosen", screen.paint(screen.out, "red", "unschedulable") + f": {_why_not(decision)}")
    else:
        row("chosen", screen.paint(screen.out, "bold", both(decision.chosen)) + _tries(decision))
    if schedule.window.duration:
        screen.line()
        for line in picture(decision, screen.width):
            screen.line(line)


def _seed(decision: Decision) -> str:
    drawn = {Strategy.STABLE: "of this period", Strategy.DAILY: "of the day", Strategy.WEEKLY: "of the week"}
    salt = decision.schedule.seed.salt
    where = f"{drawn[decision.schedule.seed.strategy]} {decision.period_key}"
    return where + (f", salt {salt!r}" if salt else "")


def _tries(decision: Decision) -> str:
    if decision.draws < 2:
        return ""
    return f"   (draw {decision.draws}; rejected before: {_refused(decision)})"


def _why_not(decision: Decision) -> str:
    if not decision.draws:
        return f"{_refused(decision).rsplit(' ', 1)[0]} rejects the nominal time"
    return f"all {decision.draws} draws were rejected: {_refused(decision)}"


def _refused(decision: Decision) -> str:
    return ", ".join(f"@{clause.replace(' ', '(', 1)}) {n}" for clause, n in count_rejections(decision).items())
