"""Steps of a switch: what is to be done next follows from the two objects alone."""

from __future__ import annotations

from enum import Enum, auto
from itertools import chain
from typing import NamedTuple

from kron.apps.operator.switch.cronjob_side import CronJobSide
from kron.apps.operator.switch.kronjob_side import KronJobSide, Phase
from kron.apps.operator.switch.quiet import MARGIN_SECONDS, MAX_WAIT_SECONDS, QUIET_SECONDS, quiet_moment
from kron.errors import InvalidInput, NotFound
from kron.timing.zone import rfc3339

POLL_SECONDS = 1.0  # between two looks at what the controllers tell
SOON_SECONDS = 5  # a period that is so near counts as passed


class Action(Enum):
    """What a step does."""

    UNMARK_CRONJOB = auto()  # which an earlier switch has suspended
    CREATE = auto()  # the KronJob, suspended
    BEGIN = auto()  # mark a suspended KronJob that waits for the switch
    SUSPEND_CRONJOB = auto()
    LIFT_KRONJOB = auto()
    SUSPEND_KRONJOB = auto()
    SET_LAST_TIME = auto()  # of the CronJob: the last period that the KronJob has handled
    RESUME_CRONJOB = auto()
    FINISH = auto()  # mark the KronJob as done
    CLEAR = auto()  # remove the marks from the KronJob
    WAIT = auto()
    END = auto()


class Step(NamedTuple):
    """Next step: what it does, and what the user is told."""

    action: Action
    text: str
    seconds: float = POLL_SECONDS  # of a wait
    at: int = 0  # last period, for SET_LAST_TIME
    waits_for_operator: bool = False


class Pair(NamedTuple):
    """A CronJob and its KronJob as the cluster has them."""

    name: str  # namespace and name of both
    cronjob: CronJobSide
    kronjob: KronJobSide | None


def switch_step(pair: Pair, now: int) -> Step:
    """Return the next step of a switch.

    Args:
        pair: The two objects.
        now: Time of the API server in seconds.

    Raises:
        KronError: The objects do not allow a switch.
    """
    name, cronjob, kronjob = pair
    if kronjob is not None and kronjob.phase is Phase.BACK:
        raise _in_the_way(f"a switch back of {name} is not complete", "repeat --switch-back first")
    if kronjob is not None and not kronjob.is_suspended:
        return _active_kronjob(pair, kronjob)
    if kronjob is not None and kronjob.phase is Phase.DONE and cronjob.is_suspended:
        return Step(Action.END, f"{name} is switched already, and its KronJob is suspended")
    if kronjob is None or kronjob.phase is not Phase.WAITING:
        return _first_step(pair)
    return _switch_over(pair, kronjob, now)


def switch_back_step(pair: Pair, now: int) -> Step:
    """Return the next step of a switch back. Arguments and errors are those of `switch_step`."""
    name, cronjob, kronjob = pair
    if kronjob is None:
        if cronjob.suspended_at is None:
            raise NotFound("NOT_FOUND", f"no KronJob {name}", hint="nothing is to be switched back")
        return Step(Action.RESUME_CRONJOB, f"CronJob {name}: resumed")
    if not kronjob.is_suspended:
        return _before_switch_back(pair, kronjob, now)
    if kronjob.phase is Phase.BACK and cronjob.is_suspended:
        return _resume_step(pair, kronjob, now)
    if kronjob.phase is Phase.WAITING and cronjob.suspended_at is not None:
        return Step(Action.RESUME_CRONJOB, f"CronJob {name}: resumed")
    if kronjob.phase is not Phase.NONE:
        return Step(Action.CLEAR, f"KronJob {name}: stays suspended, and can be deleted")
    state = "suspended too" if cronjob.is_suspended else "active"
    return Step(Action.END, f"KronJob {name} is suspended, and its CronJob is {state}")


def _first_step(pair: Pair) -> Step:
    """Return the first step. A mark of an earlier switch says nothing about this one."""
    name = pair.name
    if pair.cronjob.suspended_at is not None:
        return Step(Action.UNMARK_CRONJOB, f"CronJob {name}: suspended since an earlier switch")
    if pair.kronjob is None:
        return Step(Action.CREATE, f"KronJob {name}: created, suspended")
    return Step(Action.BEGIN, f"KronJob {name}: waits for the switch")


def _active_kronjob(pair: Pair, kronjob: KronJobSide) -> Step:
    name, cronjob = pair.name, pair.cronjob
    if not cronjob.is_suspended:
        message = f"CronJob {name} and KronJob {name} are both active"
        raise _in_the_way(message, "set policy.suspend: true in the KronJob, and repeat the command")
    if kronjob.phase is Phase.WAITING:
        return Step(Action.FINISH, f"KronJob {name}: active")
    if kronjob.is_accepted or kronjob.phase is Phase.NONE:
        following = f"; next run {kronjob.next_run}" if kronjob.next_run else ""
        return Step(Action.END, f"{name} is switched{following}")
    return _wait_for_operator(kronjob, name)


def _switch_over(pair: Pair, kronjob: KronJobSide, now: int) -> Step:
    """Return the step of a pair whose KronJob waits for the switch."""
    name, cronjob = pair.name, pair.cronjob
    if not cronjob.is_suspended:
        return _before_switch(pair, kronjob, now)
    if cronjob.suspended_at is None:
        return Step(Action.FINISH, f"CronJob {name} was suspended already, so the KronJob stays suspended")
    if cronjob.has_period(cronjob.suspended_at, now + SOON_SECONDS):
        text = f"CronJob {name}: resumed, because a period has passed since it was suspended"
        return Step(Action.RESUME_CRONJOB, text)
    return Step(Action.LIFT_KRONJOB, f"KronJob {name}: active")


def _before_switch(pair: Pair, kronjob: KronJobSide, now: int) -> Step:
    """Return the step before the CronJob is suspended: it, or what has to be waited for."""
    name, cronjob, _ = pair
    if not kronjob.is_accepted:
        return _wait_for_operator(kronjob, name)
    owed = cronjob.owed(now)
    if owed is not None:
        active = f", and waits for the end of Job {cronjob.active[0]}" if cronjob.active else ""
        return Step(Action.WAIT, f"CronJob {name} has not started its period {rfc3339(owed)} yet{active}")
    if cronjob.active and not cronjob.allows_overlap:
        return Step(Action.WAIT, f"CronJob {name}: its Job {cronjob.active[0]} has not ended")
    return _wait_for_moment(pair, kronjob, now) or Step(Action.SUSPEND_CRONJOB, f"CronJob {name}: suspended")


def _before_switch_back(pair: Pair, kronjob: KronJobSide, now: int) -> Step:
    """Return the step before the KronJob is suspended: it, or what has to be waited for."""
    name = pair.name
    unhandled = kronjob.unhandled(now)
    if unhandled:
        return Step(Action.WAIT, f"KronJob {name}: {unhandled}")
    return _wait_for_moment(pair, kronjob, now) or Step(Action.SUSPEND_KRONJOB, f"KronJob {name}: suspended")


def _resume_step(pair: Pair, kronjob: KronJobSide, now: int) -> Step:
    """Return the step that resumes the CronJob.

    Its controller starts the newest period after the last one that it knows. So it must know those of the KronJob.
    """
    name, cronjob = pair.name, pair.cronjob
    last = cronjob.last_period(kronjob.suspended_at or now)
    if last is not None and last > cronjob.known_until:
        return Step(Action.SET_LAST_TIME, f"CronJob {name}: last period set to {rfc3339(last)}", at=last)
    return Step(Action.RESUME_CRONJOB, f"CronJob {name}: resumed")


def _wait_for_operator(kronjob: KronJobSide, name: str) -> Step:
    if kronjob.refusal:
        raise _in_the_way(f"the operator refuses KronJob {name}: {kronjob.refusal}", "correct the KronJob, and repeat")
    text = f"KronJob {name}: the operator has not accepted it yet"
    return Step(Action.WAIT, text, waits_for_operator=True)


def _wait_for_moment(pair: Pair, kronjob: KronJobSide, now: int) -> Step | None:
    """Return a wait for a quiet moment; None if it is now."""
    first, last = now - QUIET_SECONDS, now + MAX_WAIT_SECONDS + MARGIN_SECONDS
    moment = quiet_moment(chain(pair.cronjob.spans(first, last), kronjob.spans(first, last)), now)
    if moment is None:
        message = f"{pair.name} has no moment within {MAX_WAIT_SECONDS // 60} min that is far enough from its periods"
        hint = "repeat the command after the window of the KronJob, or remove the window until it is switched"
        raise _in_the_way(message, hint)
    if moment <= now:
        return None
    return Step(Action.WAIT, f"{pair.name}: the next quiet moment is {rfc3339(moment)}", moment - now)


def _in_the_way(message: str, hint: str) -> InvalidInput:
    return InvalidInput("CANNOT_SWITCH", message, hint=hint)
