"""Webhooks: a run sent to `https://…` as a signed CloudEvent, and what the answer means."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from kron.clock import Clock, SystemClock
from kron.core.answer import Answer, Receipt, Report
from kron.core.job import Job
from kron.core.run import Run
from kron.core.zone import rfc3339, rfc3339_ms
from kron.errors import KronError
from kron.launcher import Launch
from kron.launchers.post import Forbidden, HalfSent, NotSent, Poster, Reply
from kron.launchers.signature import Secrets, sign
from kron.launchers.target import Url, read_url

SECONDS = 8.0  # for one attempt; less than a worker waits
LATER = frozenset({408, 425, 429})
LONGEST_REPORT = 4_096  # bytes of an answer that is read for what it says of the run

Capability = Callable[[Launch], dict[str, str] | None]  # where and with what a receiver may report


class HttpLauncher:
    """Posts runs to their targets. The same key may come twice: receivers keep what they have seen."""

    def __init__(
        self,
        secrets: Secrets,
        poster: Poster,
        *,
        plain: bool = False,
        clock: Clock | None = None,
        seconds: float = SECONDS,
        capability: Capability | None = None,
        carried: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """`carried` makes headers of where the call comes from, for those who trace it."""
        self.secrets, self.poster, self.plain, self.seconds = secrets, poster, plain, seconds
        self.clock, self.capability, self.carried = clock or SystemClock(), capability, carried

    async def start(self, launch: Launch) -> Receipt:
        """Send it. If the target asks for patience, the next attempt waits for so long."""
        keys = self.secrets.of_identity(launch.run.identity)
        try:
            url = read_url(launch.job.target, plain=self.plain)
        except KronError:
            return Receipt(Answer.REJECTED)
        if not keys:
            return Receipt(Answer.REJECTED)
        body = json.dumps(self._event(launch), separators=(",", ":")).encode()
        return await self._send(url, keys, launch.run, body)

    def lane(self, job: Job) -> str:
        """Return what launches are shared out by: the host. One that hangs holds up its own."""
        return (urlsplit(job.target).hostname or "").lower()

    async def cancel(self, run: Run) -> None:
        """A webhook cannot be taken back."""

    async def _send(self, url: Url, keys: list[bytes], run: Run, body: bytes) -> Receipt:
        now, key, tenant = int(self.clock.now()), run.key, self.secrets.tenant_of(run.identity)
        headers = {
            "Content-Type": "application/cloudevents+json",
            "User-Agent": "kron",
            "webhook-id": key,
            "webhook-timestamp": str(now),
            "webhook-signature": sign(keys, key, now, body),
            **self.carried(),
        }
        try:
            reply = await self.poster.post(url, headers, body, self.seconds, tenant)
        except Forbidden:
            return Receipt(Answer.REJECTED)
        except NotSent:
            return Receipt(Answer.RETRYABLE)
        except HalfSent:
            return Receipt(Answer.UNKNOWN)
        return Receipt(meaning(reply, key), patience(reply, now), report=report_of(reply))

    def _event(self, launch: Launch) -> dict[str, Any]:
        """The CloudEvent. All that matters is in the body, since only the body is signed."""
        run = launch.run
        tenant = self.secrets.tenant_of(run.identity)
        name = run.identity.removeprefix(f"{tenant}/") if tenant else run.identity
        report = self.capability(launch) if self.capability else None
        return {
            "specversion": "1.0",
            "id": run.key,
            "source": "/schedules/" + name,
            "type": "kron.run.due",
            "time": rfc3339_ms(run.due),
            "subject": name,
            "datacontenttype": "application/json",
            "data": {
                "schedule_id": name,
                "key": run.key,
                "period": rfc3339(run.nominal),
                "scheduled_for": rfc3339(run.nominal),
                "chosen": rfc3339_ms(run.due),
                "attempt": run.attempt,
                "not_after": rfc3339_ms(launch.not_after),
                "revision": run.revision,
                "trigger": run.trigger or None,
                **({"report": report} if report else {}),
            },
        }


def meaning(reply: Reply, key: str) -> Answer:
    """What an answer means. A 409 that names the key says that it came before."""
    if 200 <= reply.status < 300:
        return Answer.OK
    if reply.status == 409 and (reply.headers.get("webhook-id") == key or key.encode() in reply.body):
        return Answer.OK
    if reply.status in LATER or reply.status >= 500:
        return Answer.RETRYABLE
    return Answer.REJECTED


def report_of(reply: Reply) -> Report | None:
    """What an answer says of the run at once, as a report would later: `{"run": "success"}`."""
    if not reply.body.startswith(b"{") or len(reply.body) > LONGEST_REPORT:
        return None
    try:
        said = json.loads(reply.body)
    except (ValueError, RecursionError):
        return None
    return next((report for report in Report if report == said.get("run")), None)


def patience(reply: Reply, now: int) -> int:
    """How many milliseconds the target asks for before it is tried again."""
    text = reply.headers.get("retry-after", "")
    if text.isascii() and text.isdigit() and len(text) < 7:
        return int(text) * 1000
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return 0
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0, int((when - datetime.fromtimestamp(now, UTC)).total_seconds() * 1000))
