"""Rule for clock changes that an interface takes next to a schedule text: `dst` of a job or of a definition.

The rule becomes part of the schedule, so the text of the schedule becomes canonical and shows it as `@dst`.
"""

from __future__ import annotations

from dataclasses import replace

from kron.language.canonical import canonical
from kron.language.fault import Fault
from kron.language.kron import Modifier, scan
from kron.language.plus import PLUS_MODIFIERS, terms_of
from kron.language.plus_args import dst_of
from kron.language.reading import Reading
from kron.timing.period import next_nominal
from kron.timing.schedule.head import Every
from kron.timing.zone import EARLIEST

FIELD = "dst"  # name of the option of a job, and of the field of a definition


def with_clock_rule(reading: Reading, rule: str) -> Reading:
    """Return a reading with a rule for clock changes; the reading itself if it has this rule already.

    Args:
        reading: Schedule and text without `@dst`.
        rule: Body of `@dst`, such as `once` or `gap=after,fold=first`.

    Raises:
        LanguageError: The rule is invalid, the text has a rule of its own, or the schedule cannot have one. The place
            of the error is in the rule; its source is `dst`.
    """
    try:
        return _with_rule(reading, rule)
    except Fault as fault:
        raise fault.within(rule, FIELD) from None


def without_clock_rule(text: str, dialect: str) -> str:
    """Return a valid text without its `@dst`."""
    modifier = _dst_modifier(text, dialect)
    return text if modifier is None else (text[: modifier.start].rstrip() + text[modifier.end :])


def _with_rule(reading: Reading, rule: str) -> Reading:
    schedule = reading.schedule
    if isinstance(schedule.cron, Every):
        message = "dst does not go with every: elapsed time knows no clock changes"
        raise Fault("MISPLACED_MODIFIER", message, 0, len(rule), "remove dst")
    if _dst_modifier(reading.text, reading.dialect):
        raise Fault("TWO_RULES", "the schedule has @dst, and dst is given too", 0, len(rule), "keep one of them")
    terms = terms_of(schedule.cron, dst_of(schedule.cron, rule), schedule.terms.valid)
    with_rule = replace(schedule, terms=terms)
    if with_rule == schedule:
        return reading
    if next_nominal(with_rule, EARLIEST) is None and next_nominal(schedule, EARLIEST) is not None:
        raise Fault("NEVER", "never runs: the rule leaves out every period", 0, len(rule), "use another rule")
    return Reading(with_rule, *canonical(with_rule))


def _dst_modifier(text: str, dialect: str) -> Modifier | None:
    """Return the `@dst` of a valid text: only the plus dialect can have one."""
    if dialect != "plus" or "@dst" not in text:
        return None
    _, modifiers = scan(text, PLUS_MODIFIERS)
    return next((modifier for modifier in modifiers if modifier.name == "dst"), None)
