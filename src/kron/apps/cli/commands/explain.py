"""`kron explain`: explain how a period's run time was chosen, with a chart of its window."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import Subject, now, subjects, usage_error, with_identity
from kron.apps.cli.window_chart import picture
from kron.errors import NotFound
from kron.language.canonical import unparse
from kron.language.english import describe, english_policy
from kron.language.record import to_record
from kron.timing.decision import Decision, count_rejections, decide
from kron.timing.period import Period, next_nominal
from kron.timing.recurrence import stands_for
from kron.timing.schedule.sampling import Strategy
from kron.timing.schedule.window import SECOND
from kron.timing.zone import instant_of, rfc3339


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Explain one decision."""
    selected_subjects = subjects(args, screen)
    if len(selected_subjects) > 1:
        names = ", ".join(subject.name for subject in selected_subjects[:10])
        raise usage_error(f"{args.file} has {len(selected_subjects)} jobs", f"add the name of one job: {names}")
    subject = with_identity(selected_subjects[0])
    decision = _decision(args, subject)
    if args.output == "json":
        texts = {"english": describe(subject.schedule), "policy": english_policy(subject.schedule.policy)}
        screen.json({**to_record(decision), **texts})
    else:
        _show(decision, subject, screen)
    return 0


def _decision(args: argparse.Namespace, subject: Subject) -> Decision:
    schedule = subject.schedule
    if args.period is None:
        return subject.next_decision(now(args))
    try:
        requested_nominal = instant_of(args.period)
    except ValueError as error:
        raise usage_error(str(error), "use a period such as 2026-03-01T00:00:00Z") from None
    nominal = next_nominal(schedule, requested_nominal - 1)
    if nominal != requested_nominal:
        hint = f"the next period is {rfc3339(nominal)}" if nominal is not None else "it has no later period"
        raise NotFound("NOT_FOUND", f"{args.period} is not a period of this schedule", hint=hint)
    return decide(schedule, Period(requested_nominal), subject.identity)


def _show(decision: Decision, subject: Subject, screen: Screen) -> None:
    schedule, zone = decision.schedule, decision.schedule.zone

    def print_row(name: str, value: str) -> None:
        screen.line(f"{screen.paint(screen.out, 'dim', name.ljust(9))} {value}")

    def local_and_utc(t: int) -> str:
        return f"{zone.wall(t).text}   {rfc3339(t)}"

    print_row("schedule", unparse(schedule))
    print_row("in words", describe(schedule))
    print_row("policy", english_policy(schedule.policy))
    if subject.identity != "-":
        print_row("identity", decision.identity)
    print_row("nominal", local_and_utc(decision.period.nominal))
    missing_time = stands_for(schedule, decision.period.nominal)
    if missing_time is not None:
        print_row("", f"for {missing_time}, which the clocks skip")
    if schedule.window.duration:
        print_row("window", f"{local_and_utc(decision.window.start // SECOND)}   to")
        print_row("", local_and_utc(decision.window.end // SECOND))
        print_row("seed", f"{decision.seed_hash[:16]}…  ({_seed_text(decision)})")
    if decision.chosen is None:
        print_row("chosen", screen.paint(screen.out, "red", "unschedulable") + f": {_unschedulable_text(decision)}")
    else:
        print_row("chosen", screen.paint(screen.out, "bold", local_and_utc(decision.chosen)) + _draws_text(decision))
    if schedule.window.duration:
        screen.line()
        for line in picture(decision, screen.width):
            screen.line(line)


def _seed_text(decision: Decision) -> str:
    scope_texts = {Strategy.STABLE: "of this period", Strategy.DAILY: "of the day", Strategy.WEEKLY: "of the week"}
    salt = decision.schedule.seed.salt
    text = f"{scope_texts[decision.schedule.seed.strategy]} {decision.period_key}"
    return text + (f", salt {salt!r}" if salt else "")


def _draws_text(decision: Decision) -> str:
    if decision.draws < 2:
        return ""
    return f"   (draw {decision.draws}; rejected before: {_rejections_text(decision)})"


def _unschedulable_text(decision: Decision) -> str:
    if not decision.draws:
        return f"{_rejections_text(decision).rsplit(' ', 1)[0]} rejects the nominal time"
    return f"all {decision.draws} draws were rejected: {_rejections_text(decision)}"


def _rejections_text(decision: Decision) -> str:
    return ", ".join(f"@{clause.replace(' ', '(', 1)}) {n}" for clause, n in count_rejections(decision).items())
