"""The registrar: what may be asked of Kron. Every write holds only if the schedule is still as it was read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kron.coming import coming
from kron.core.answer import Report, look_after, reported
from kron.core.case import Case
from kron.core.job import Job
from kron.core.outcome import Reason, Verdict
from kron.core.period import next_nominal
from kron.core.policy import Overlap
from kron.core.run import BACKFILL, OWN, REDRIVE, Run, State, ended, key_of, trigger_of
from kron.edit import defined, deleted
from kron.errors import KronError
from kron.events import Sink, about, guarded, silent
from kron.failpoint import fail_point
from kron.pause import NOBODY, Asker, awoken, paused, resumed
from kron.store import Change, Settlement, Store

__all__ = ["MOST_BACKFILL", "Asker", "Registrar"]

TRIES = 20  # against others who write at the same time
REDRIVEN = frozenset({State.FAILED, State.UNKNOWN, State.LOST})
MOST_BACKFILL = 1_000  # periods in one request
MOST_ON_A_PAGE = 1_000


class Registrar:
    """Defines, pauses, deletes, shows and triggers schedules. `sink` hears of the runs that end by it."""

    def __init__(self, store: Store, sink: Sink = silent) -> None:
        self.store, self.sink = store, sink if sink is silent else guarded(sink)

    async def upsert(self, job: Job, asker: Asker = NOBODY, *, expected: int | None = None) -> Case:
        """Define a schedule, or define it anew. What was due before is recorded first; a pause stays.

        Here and below, `expected` is the revision that the asker has seen: 0 for none. With another, nothing is done.
        """
        return await self._write(job.identity, lambda case, now: defined(job, case, now, asker), expected)

    async def upsert_all(self, asked: Sequence[tuple[Job, Asker]]) -> list[Case]:
        """Define many schedules in one write. Those that somebody else is changing are then defined one by one."""
        cases, now = await self.store.get_now([job.identity for job, _ in asked])
        names, wanted = set[str](), dict[int, Settlement | None]()
        for number, ((job, asker), case) in enumerate(zip(asked, cases, strict=True)):
            if job.identity not in names and not (case and case.awakes(now)):
                wanted[number] = defined(job, case, now, asker)
            names.add(job.identity)
        changing = {number: settlement for number, settlement in wanted.items() if settlement}
        held = dict(zip(changing, await self.store.settle(list(changing.values()), now), strict=True))
        found: list[Case] = []
        for number, ((job, asker), case) in enumerate(zip(asked, cases, strict=True)):
            if held.get(number):
                found.append(changing[number].after)
            elif number in wanted and wanted[number] is None:
                found.append(_known(case, job.identity))
            else:
                found.append(await self.upsert(job, asker))
        return found

    async def pause(
        self, identity: str, asker: Asker = NOBODY, *, until: int | None = None, expected: int | None = None
    ) -> Case:
        """Let no period be handled until then (milliseconds), or until it is resumed."""

        def change(case: Case | None, now: int) -> Settlement | None:
            return paused(_known(case, identity), now, until, asker)

        return await self._write(identity, change, expected)

    async def resume(self, identity: str, asker: Asker = NOBODY, *, expected: int | None = None) -> Case:
        """End a pause. What passed meanwhile is dropped, or judged by its deadline: the policy says which."""
        return await self._write(identity, lambda case, now: resumed(_known(case, identity), now, asker), expected)

    async def delete(self, identity: str, asker: Asker = NOBODY, *, expected: int | None = None) -> Case:
        """Delete a schedule. Its history stays, so that its name cannot run a period twice."""
        return await self._write(identity, lambda case, now: deleted(_known(case, identity), now, asker), expected)

    async def trigger(self, identity: str, request: str) -> Run:
        """Run it now, in addition to its calendar, and also while it is paused. The same request twice is one run.

        Where the overlap policy is `skip` and another run is active, the run is recorded as skipped at once.
        """
        if request.startswith(OWN):
            message = f"request {request!r} has a name that only a backfill or a redrive can have"
            raise KronError("BAD_REQUEST", message, hint="give the request another name")
        key = key_of(identity, 0, request)
        for _ in range(TRIES):
            (run,) = await self.store.find([key])
            if run is not None:
                return run
            (case,), now = await self.store.get_now([identity])
            case = _known(case, identity)
            new = _manual(case, key, now // 1000, request, now)
            if case.policy.overlap is Overlap.SKIP and any(map(_first, case.open)):
                new = ended(new, State.SKIPPED, now, Verdict.SKIPPED, Reason.OVERLAP)
            if (await self.store.settle([_settled(case, (new,), now)], now))[0]:
                self._tell(new, now)
                return new
        raise _contended(identity)

    async def backfill(
        self, identity: str, first: int, last: int, request: str, overlap: Overlap = Overlap.QUEUE
    ) -> list[Run]:
        """Run the periods from one second to another again. The same request twice is one run a period.

        The runs wait for each other and for active runs, unless `overlap` says otherwise.
        """
        (case,) = await self.store.get([identity])
        case = _known(case, identity)
        return await self._runs_again(identity, _range(case.job, first, last), BACKFILL, request, overlap)

    async def redrive(self, key: str, overlap: Overlap = Overlap.QUEUE) -> Run:
        """Run the period of a run that came to nothing once more: as a run of its own, since what is recorded stays.

        The same run twice is one run; the one that came of it may be driven again in its turn.
        """
        (dead,) = await self.store.find([key])
        if dead is None:
            raise KronError(
                "NOT_FOUND", f"there is no run {key}", hint="give the key of a run that could not be started"
            )
        if dead.state not in REDRIVEN:
            hint = "only what failed, was lost, or may never have arrived is driven again; trigger it instead"
            raise KronError("NOT_DEAD", f"the run is {dead.state}", hint=hint)
        (run,) = await self._runs_again(dead.identity, [dead.nominal], REDRIVE, key, overlap)
        return run

    async def dead(self, prefix: str = "", *, before: str = "", limit: int = 20) -> list[Run]:
        """A page of the runs that could not be started, the last first. The next page follows the last key."""
        return await self.store.dead(prefix, _page(limit), before)

    async def report(self, key: str, report: Report, attempt: int | None = None) -> bool:
        """What a target says of a run. False if it comes too late to count.

        A target whose reports may come twice says of which attempt it speaks: the last one that it has seen.
        """
        for _ in range(TRIES):
            (run,) = await self.store.find([key])
            if run is None:
                raise KronError("NOT_FOUND", f"there is no run {key}", hint="give the key that the run was sent with")
            (case,), now = await self.store.get_now([run.identity])
            case = _known(case, run.identity, deleted=True)
            after = reported(run, report, case.job_of(run).schedule.policy, now, attempt)
            if after is None:
                return False
            if (await self.store.change([Change(run, after, look_after(after, case.policy, now))], now))[0]:
                self._tell(after, now)
                return True
        raise _contended(key)

    async def get(self, identity: str) -> Case:
        """A schedule as it stands."""
        (case,) = await self.store.get([identity])
        return _known(case, identity)

    async def schedules(
        self, prefix: str = "", *, paused: bool | None = None, deleted: bool = False, after: str = "", limit: int = 100
    ) -> list[Case]:
        """A page of the schedules whose names begin so, in order. The next page follows the last name: `after`."""
        names = await self.store.identities(after, _page(limit), prefix, paused, deleted)
        return [case for case in await self.store.get(names) if case]

    async def runs(self, identity: str, *, before: str = "", limit: int = 20) -> list[Run]:
        """A page of the runs of a schedule, newest first. The next page follows the last key: `before`."""
        (case,) = await self.store.get([identity])
        _known(case, identity, deleted=True)
        return await self.store.runs(identity, _page(limit), before)

    async def preview(self, identity: str, count: int = 5) -> list[int]:
        """When it will run next, in milliseconds."""
        (case,), now = await self.store.get_now([identity])
        case = _known(case, identity)
        return [due.at for due in coming(case, now, count)]

    async def _runs_again(
        self, identity: str, nominals: Sequence[int], kind: str, request: str, overlap: Overlap
    ) -> list[Run]:
        """A run for each of those periods, for one request, whatever overlap it names."""
        keys, trigger = again(identity, nominals, kind, request), trigger_of(kind, request, overlap)
        for _ in range(TRIES):
            present = {run.key for run in await self.store.find(keys) if run}
            (case,), now = await self.store.get_now([identity])
            case = _known(case, identity)
            pairs = [(n, k) for n, k in zip(nominals, keys, strict=True) if k not in present]
            new = tuple(_manual(case, key, nominal, trigger, now) for nominal, key in pairs)
            if not new or (await self.store.settle([_settled(case, new, now)], now))[0]:
                return [run for run in await self.store.find(keys) if run]
        raise _contended(identity)

    def _tell(self, run: Run, now: int) -> None:
        if not run.open:
            self.sink(about("run_ended", now, run))

    async def _write(
        self, identity: str, change: Callable[[Case | None, int], Settlement | None], expected: int | None
    ) -> Case:
        for _ in range(TRIES):
            (case,), now = await self.store.get_now([identity])
            if case and case.awakes(now):  # then the pause is not what is to be changed
                await self.store.settle([awoken(case)], now)
                continue
            _unchanged(case, identity, expected)
            wanted = change(case, now)
            if wanted is None:
                return _known(case, identity)
            fail_point("K11")
            if (await self.store.settle([wanted], now))[0]:
                return wanted.after
        raise _contended(identity)


def again(identity: str, nominals: Sequence[int], kind: str, request: str) -> list[str]:
    """Return the keys of the runs that a backfill or a redrive makes of those periods."""
    return [key_of(identity, nominal, trigger_of(kind, request)) for nominal in nominals]


def _manual(case: Case, key: str, nominal: int, request: str, now: int) -> Run:
    return Run(
        key, case.identity, nominal, case.revision, now, State.PENDING, trigger=request, created=now, changed=now
    )


def _first(run: Run) -> bool:
    """Whether an open run comes before one that is asked for now."""
    return run.active or (run.state is State.PENDING and run.trigger != "")


def _settled(case: Case, new: tuple[Run, ...], now: int) -> Settlement:
    return Settlement(case, case._replace(wake=now), new)


def _range(job: Job, first: int, last: int) -> list[int]:
    found, nominal = list[int](), next_nominal(job.schedule, first - 1)
    while nominal is not None and nominal <= last:
        found.append(nominal)
        if len(found) > MOST_BACKFILL:
            message = f"the range has more than {MOST_BACKFILL} periods"
            raise KronError("TOO_MANY", message, hint="ask for a shorter one")
        nominal = next_nominal(job.schedule, nominal)
    return found


def _page(limit: int) -> int:
    if not 1 <= limit <= MOST_ON_A_PAGE:
        raise KronError("LIMIT", f"a page has 1 to {MOST_ON_A_PAGE} entries, not {limit}", hint="ask for several pages")
    return limit


def _known(case: Case | None, identity: str, *, deleted: bool = False) -> Case:
    if case is None or (case.deleted and not deleted):
        raise KronError("NOT_FOUND", f"there is no schedule {identity!r}", hint="define it first")
    return case


def _unchanged(case: Case | None, identity: str, expected: int | None) -> None:
    """Refuse to change what the asker has not seen."""
    standing = 0 if case is None or case.deleted else case.revision
    if expected is not None and expected != standing:
        message = (
            f"{identity!r} has the revision {standing}, not {expected}" if standing else f"{identity!r} is not there"
        )
        hint = "read it again, and decide again" if standing else "define it without naming a revision"
        raise KronError("REVISION", message, hint=hint, details={"revision": standing})


def _contended(identity: str) -> KronError:
    return KronError("CONTENDED", f"others keep changing {identity!r}", hint="try again")
