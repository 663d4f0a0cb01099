"""CronJob of a switch: its times, its suspension, and what its controller has started."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kron.apps.operator.switch.quiet import Span
from kron.kube.kind import GROUP, Body, seconds_of
from kron.language.foreign.cronjob import read_time
from kron.timing.period import next_nominal, nominals, prev_nominal
from kron.timing.schedule import Schedule

SUSPENDED_AT = f"{GROUP}/suspended-by-switch"  # annotation: when a switch has suspended the CronJob


class CronJobSide(NamedTuple):
    """A CronJob and its times. Times are in seconds."""

    body: Body
    schedule: Schedule  # that of a KronJob with the same times and no window; not used for an interval
    interval: int  # seconds of `@every`; 0 for a schedule of fields

    @property
    def spec(self) -> dict[str, Any]:
        """Spec, as the API server sent it."""
        spec: dict[str, Any] = self.body["spec"]
        return spec

    @property
    def version(self) -> str:
        """Version, as the precondition of a change."""
        return str(self.body["metadata"].get("resourceVersion") or "")

    @property
    def is_suspended(self) -> bool:
        """Whether its controller starts nothing."""
        return bool(self.spec.get("suspend"))

    @property
    def suspended_at(self) -> int | None:
        """When a switch has suspended it; None if a user has."""
        annotations = self.body["metadata"].get("annotations") or {}
        return seconds_of(annotations.get(SUSPENDED_AT)) if self.is_suspended else None

    @property
    def last_started(self) -> int | None:
        """Time of the last period that its controller has started; None if it has started none."""
        return seconds_of(self._status.get("lastScheduleTime"))

    @property
    def known_until(self) -> int:
        """Time up to which its controller knows its periods: that of the last one, else of its creation."""
        return self.last_started or seconds_of(self.body["metadata"].get("creationTimestamp")) or 0

    @property
    def active(self) -> list[str]:
        """Names of its Jobs that have not ended."""
        return [str(each.get("name")) for each in self._status.get("active") or ()]

    @property
    def allows_overlap(self) -> bool:
        """Whether a Job may start while another one runs."""
        return self.spec.get("concurrencyPolicy") in (None, "Allow")

    def owed(self, now: int) -> int | None:
        """Return the newest period that its controller has not started, and would start now or later."""
        begin, deadline = self.known_until, self.spec.get("startingDeadlineSeconds")
        if deadline is not None:
            begin = max(begin, now - int(deadline))
        last = self.last_period(now)
        return last if last is not None and last > begin else None

    def last_period(self, upto: int) -> int | None:
        """Return the last period not later than an instant."""
        if not self.interval:
            return prev_nominal(self.schedule, upto)
        base = self.known_until  # from which `@every` counts
        return base + (upto - base) // self.interval * self.interval if upto >= base + self.interval else None

    def has_period(self, after: int, upto: int) -> bool:
        """Return whether it has a period after an instant and not after another one."""
        return next(self._periods(after, upto), None) is not None

    def spans(self, first: int, last: int) -> Iterator[Span]:
        """Yield its periods of a time, as spans without a length."""
        for nominal in self._periods(first, last):
            yield Span(nominal, nominal)

    @property
    def has_times_of_schedule(self) -> bool:
        """Whether the last period that was started is one of the schedule."""
        last = self.last_started
        return self.interval > 0 or last is None or next_nominal(self.schedule, last - 1) == last

    @property
    def _status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.body.get("status") or {}
        return status

    def _periods(self, after: int, upto: int) -> Iterator[int]:
        if not self.interval:
            yield from nominals(self.schedule, after, upto)
            return
        base = self.known_until
        first = base + max(1, (after - base) // self.interval + 1) * self.interval
        yield from range(first, upto + 1, self.interval)


def cronjob_side(body: Body, schedule: Schedule) -> CronJobSide:
    """Return a CronJob with the schedule that its import has given."""
    return CronJobSide(body, schedule, read_time(body["spec"]["schedule"]).seconds)
