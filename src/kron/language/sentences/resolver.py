"""The placeholder dialect: compiled sentences such as `FUZZY:DAILY * * *`, whose time the identity selects."""

from __future__ import annotations

from kron.language.fault import Fault
from kron.language.options import IDENTITY_HINT, Options
from kron.language.sentences import github
from kron.language.sentences.placeholder import read_placeholder
from kron.language.sentences.scatter import resolve
from kron.timing.schedule import Schedule


def read_schedule(text: str, options: Options) -> Schedule:
    """Parse a placeholder into the schedule of one identity. The zone of the options applies to its cron line."""
    plan = read_placeholder(text.strip(" \t"))
    if not options.identity:
        raise Fault("NO_IDENTITY", "a placeholder needs the identity of the job", 0, len(text), IDENTITY_HINT)
    return Schedule(github.read(resolve(plan, options.identity).cron), options.zone, policy=options.policy)
