"""Registrar: all requests on schedules.

Every write is committed only if the schedule is unchanged since it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kron.engine.backfill import backfill_range, request_update, requested_run, run_again
from kron.engine.events import Event, Sink, about, guarded, silent
from kron.engine.failpoint import fail_point
from kron.engine.report_writer import ReportWriter
from kron.engine.request_check import (
    MAX_WRITE_ATTEMPTS,
    checked_page_size,
    contended_error,
    require_revision,
    require_schedule,
)
from kron.engine.store import Store
from kron.errors import InvalidInput, NotFound
from kron.rules.action import ActionKind
from kron.rules.edit import defined, deleted
from kron.rules.launch_result import Report
from kron.rules.outcome import Outcome, Reason
from kron.rules.pause import NO_ACTOR, Actor, pause_expired_update, paused, resumed
from kron.rules.run import BACKFILL, REDRIVE, RESERVED_PREFIXES, Run, ended
from kron.rules.run_state import REDRIVABLE, State
from kron.rules.state import ScheduleState
from kron.rules.upcoming import upcoming
from kron.rules.update import ScheduleUpdate
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.labels import selector_of
from kron.timing.schedule.policy import Overlap

__all__ = ["Actor", "Registrar"]

Check = Callable[[ScheduleUpdate, int], None]  # of an update at a time in milliseconds


class Registrar:
    """Defines, pauses, resumes, deletes, lists and triggers schedules.

    `sink` receives the runs that end by these requests.
    """

    def __init__(self, store: Store, sink: Sink = silent) -> None:
        self.store, self.sink = store, sink if sink is silent else guarded(sink)
        self.reports = ReportWriter(store, sink)

    async def upsert(
        self,
        job: Job,
        actor: Actor = NO_ACTOR,
        *,
        expected: int | None = None,
        check: Check | None = None,
        as_of: int | None = None,
        after: int | None = None,
    ) -> ScheduleState:
        """Create or replace a schedule. Periods that are already due are recorded first; a pause stays.

        Args:
            job: The new definition.
            actor: Who requests the change, and why.
            expected: Revision that the caller has seen, here and in the methods below; 0: no schedule; None: any.
            check: Raises an error for an update that the caller refuses. An unchanged definition has no update.
            as_of: When the definition was changed (milliseconds), if that was earlier: the change is dated then.
            after: Last period (seconds) that a lost store has handled. A new schedule does not owe it again.

        Raises:
            RevisionConflict: The schedule has another revision than `expected`, or `CONTENDED`. Nothing is written.
        """

        def change(state: ScheduleState | None, now: int) -> ScheduleUpdate | None:
            update = defined(job, state, now, actor, as_of, after)
            if update is not None and check is not None:
                check(update, now)
            return update

        return await self._write(job.identity, change, expected)

    async def upsert_all(
        self, requests: Sequence[tuple[Job, Actor]], *, as_of: int | None = None
    ) -> list[ScheduleState]:
        """Create or replace many schedules in one write. `as_of` is as in `upsert`.

        Schedules that are changing concurrently are then written one by one.
        """
        stored_states, now = await self.store.get_with_time([job.identity for job, _ in requests])
        names, updates = set[str](), dict[int, ScheduleUpdate | None]()
        for number, ((job, actor), state) in enumerate(zip(requests, stored_states, strict=True)):
            if job.identity not in names and not (state and state.pause_expired(now)):
                updates[number] = defined(job, state, now, actor, as_of)
            names.add(job.identity)
        changes = {number: update for number, update in updates.items() if update}
        committed = dict(zip(changes, await self.store.commit(list(changes.values()), now), strict=True))
        states: list[ScheduleState] = []
        for number, ((job, actor), state) in enumerate(zip(requests, stored_states, strict=True)):
            if committed.get(number):
                states.append(changes[number].after)
            elif number in updates and updates[number] is None:
                states.append(require_schedule(state, job.identity))
            else:
                states.append(await self.upsert(job, actor, as_of=as_of))
        return states

    async def pause(
        self, identity: str, actor: Actor = NO_ACTOR, *, until: int | None = None, expected: int | None = None
    ) -> ScheduleState:
        """Pause a schedule until `until` (milliseconds), or until it is resumed.

        Raises:
            NotFound: The schedule does not exist.
            RevisionConflict: The schedule has another revision than `expected`.
            InvalidInput: `until` is not in the future.
            Contended: The schedule is changed concurrently.
        """

        def change(state: ScheduleState | None, now: int) -> ScheduleUpdate | None:
            return paused(require_schedule(state, identity), now, until, actor)

        return await self._write(identity, change, expected)

    async def resume(self, identity: str, actor: Actor = NO_ACTOR, *, expected: int | None = None) -> ScheduleState:
        """End a pause.

        The policy decides on the periods that passed: they are dropped, or each one is subject to its deadline.
        """
        return await self._write(
            identity, lambda state, now: resumed(require_schedule(state, identity), now, actor), expected
        )

    async def delete(self, identity: str, actor: Actor = NO_ACTOR, *, expected: int | None = None) -> ScheduleState:
        """Delete a schedule. Its history stays, so that a new schedule of this name cannot run a period twice."""
        return await self._write(
            identity, lambda state, now: deleted(require_schedule(state, identity), now, actor), expected
        )

    async def trigger(self, identity: str, request: str, actor: Actor = NO_ACTOR) -> Run:
        """Run a schedule now, in addition to its calendar, and also while it is paused.

        Where the overlap policy is `skip` and another run is active, the run is recorded as skipped at once.

        Args:
            identity: The schedule.
            request: Name of the request. The same request repeated gives one run.
            actor: Who requests the run. Recorded if it has a name.

        Raises:
            NotFound: The schedule does not exist.
            InvalidInput: The name is reserved for backfills and redrives.
            Contended: The schedule is changed concurrently.
        """
        if request.startswith(RESERVED_PREFIXES):
            message = f"request name {request!r} has a prefix that is reserved for backfills and redrives"
            raise InvalidInput("BAD_REQUEST", message, hint="choose another request name")
        key = key_of(identity, 0, request)
        for _ in range(MAX_WRITE_ATTEMPTS):
            (run,) = await self.store.runs_by_key([key])
            if run is not None:
                return run
            (state,), now = await self.store.get_with_time([identity])
            state = require_schedule(state, identity)
            new = requested_run(state, key, now // 1000, request, now)
            if state.policy.overlap is Overlap.SKIP and any(map(_precedes_request, state.open_runs)):
                new = ended(new, State.SKIPPED, now, Outcome.SKIPPED, Reason.OVERLAP)
            if (await self.store.commit([request_update(state, (new,), now, ActionKind.TRIGGERED, actor)], now))[0]:
                self._emit_if_ended(new, now)
                return new
        raise contended_error(identity)

    async def backfill(
        self,
        identity: str,
        first: int,
        last: int,
        request: str,
        overlap: Overlap = Overlap.QUEUE,
        actor: Actor = NO_ACTOR,
    ) -> list[Run]:
        """Run the periods from `first` to `last` (seconds, both included) again.

        The same request repeated gives one run per period. The runs wait for each other and for active runs, unless
        `overlap` says otherwise.

        Raises:
            NotFound: The schedule does not exist.
            InvalidInput: The range has more than 1,000 periods.
            Contended: The schedule is changed concurrently.
        """
        (state,) = await self.store.get([identity])
        state = require_schedule(state, identity)
        periods = backfill_range(state.job, first, last)
        return await run_again(self.store, identity, periods, BACKFILL, request, overlap, actor)

    async def redrive(self, key: str, overlap: Overlap = Overlap.QUEUE, actor: Actor = NO_ACTOR) -> Run:
        """Run the period of a failed, lost or unknown run again.

        This is a new run, because recorded runs are permanent. The same run redriven twice gives one new run. The new
        run can be redriven in its turn.

        Raises:
            NotFound: The run does not exist.
            InvalidInput: The run is in another state.
            Contended: The schedule is changed concurrently.
        """
        (dead_letter,) = await self.store.runs_by_key([key])
        if dead_letter is None:
            raise NotFound(
                "NOT_FOUND",
                f"run {key} does not exist",
                hint="use the key of a run that failed, was lost or is unknown",
            )
        if dead_letter.state not in REDRIVABLE:
            message = f"run is {dead_letter.state}; only failed, lost and unknown runs can be redriven"
            raise InvalidInput("NOT_DEAD", message, hint="trigger the schedule instead")
        (run,) = await run_again(self.store, dead_letter.identity, [dead_letter.nominal], REDRIVE, key, overlap, actor)
        return run

    async def dead(self, prefix: str = "", *, before: str = "", limit: int = 20) -> list[Run]:
        """Return a page of dead letters, latest first. `before` is the last key of the previous page."""
        return await self.store.dead_letters(prefix, checked_page_size(limit), before)

    async def report(self, key: str, report: Report, attempt: int | None = None, *, error: str = "") -> bool:
        """Record a target's report on a run, as `ReportWriter.write`. Returns False if it is too late to count.

        200 characters of `error` are kept with the attempt.
        """
        return await self.reports.write(key, report, attempt, excerpt=error)

    async def get(self, identity: str) -> ScheduleState:
        """Return the present state of a schedule."""
        return require_schedule((await self.store.get([identity]))[0], identity)

    async def schedules(
        self,
        prefix: str = "",
        *,
        paused: bool | None = None,
        deleted: bool = False,
        labels: Sequence[str] = (),
        after: str = "",
        limit: int = 100,
    ) -> list[ScheduleState]:
        """Return a page of the schedules whose names begin with `prefix`, in order.

        Args:
            prefix: Beginning of the names.
            paused: Only paused schedules (True), only others (False), or both (None).
            deleted: Only deleted schedules (True), or only others (False).
            labels: Only schedules that have all of these labels, each as `key=value`.
            after: Last name of the previous page.
            limit: Maximum number of schedules.
        """
        selectors = [selector_of(label) for label in labels]
        names = await self.store.identities(after, checked_page_size(limit), prefix, paused, deleted, selectors)
        return [state for state in await self.store.get(names) if state]

    async def runs(self, identity: str, *, before: str = "", limit: int = 20) -> list[Run]:
        """Return a page of the runs of a schedule, newest first. `before` is the last key of the previous page."""
        (state,) = await self.store.get([identity])
        require_schedule(state, identity, deleted=True)
        return await self.store.runs(identity, checked_page_size(limit), before)

    async def preview(self, identity: str, count: int = 5) -> list[int]:
        """Return the due times of the next runs, in milliseconds."""
        (state,), now = await self.store.get_with_time([identity])
        state = require_schedule(state, identity)
        return [due.at for due in upcoming(state, now, count)]

    def _emit_if_ended(self, run: Run, now: int) -> None:
        if not run.open:
            self.sink(about("run_finished", now, run))

    async def _write(
        self, identity: str, change: Callable[[ScheduleState | None, int], ScheduleUpdate | None], expected: int | None
    ) -> ScheduleState:
        for _ in range(MAX_WRITE_ATTEMPTS):
            (state,), now = await self.store.get_with_time([identity])
            if state and state.pause_expired(now):  # end the pause first: the change applies after it
                await self.store.commit([pause_expired_update(state)], now)
                continue
            require_revision(state, identity, expected)
            update = change(state, now)
            if update is None:
                return require_schedule(state, identity)
            fail_point("K11")
            if (await self.store.commit([update], now))[0]:
                kind = str(update.action.kind) if update.action else "defined"
                self.sink(Event("schedule_changed", now, {"identity": identity, "change": kind}))
                return update.after
        raise contended_error(identity)


def _precedes_request(run: Run) -> bool:
    """Return whether an open run precedes one that is requested now."""
    return run.active or (run.state is State.PENDING and run.trigger != "")
