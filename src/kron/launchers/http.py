"""Webhook launcher: sends a run to `https://…` as a signed CloudEvent and interprets the response."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from kron.engine.clock import Clock, SystemClock
from kron.engine.launcher import Launch
from kron.engine.target_name import normal_host
from kron.errors import KronError
from kron.launchers.post import Forbidden, NotSent, PartiallySent, Poster, Reply
from kron.launchers.signature import Secrets, sign
from kron.launchers.target import Url, read_url
from kron.launchers.webhook import accepts
from kron.rules.excerpt import excerpt_of
from kron.rules.launch_result import MAX_RETRY_AFTER_MS, LaunchResponse, LaunchResult, Report
from kron.rules.run import Run
from kron.timing.job import Job, Webhook
from kron.timing.zone import rfc3339, rfc3339_ms

TIMEOUT_SECONDS = 8.0  # time limit of one attempt; less than a worker waits for a launch
RETRYABLE_STATUSES = frozenset({408, 425, 429})
MAX_RETRY_DIGITS = 100  # of a `Retry-After` in seconds that is read
MAX_REPORT_BYTES = 4_096  # maximum bytes of a response body that is parsed for a report
_WEBHOOK_REPORTS = (Report.STARTED, Report.SUCCESS, Report.FAILED)

Capability = Callable[[Launch], dict[str, str] | None]  # URL and token with which a receiver can report


class HttpLauncher:
    """Launcher of webhook targets. A receiver can get the same key more than once and must deduplicate by key."""

    def __init__(
        self,
        secrets: Secrets,
        poster: Poster,
        *,
        plain: bool = False,
        clock: Clock | None = None,
        seconds: float = TIMEOUT_SECONDS,
        capability: Capability | None = None,
        carried: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """Create a launcher.

        Args:
            secrets: Secrets that sign the requests.
            poster: Sends the requests.
            plain: Allow `http://` targets, without TLS.
            clock: Clock of the signatures; None is the system clock.
            seconds: Time limit of one attempt.
            capability: Returns URL and token with which the receiver can report; None sends none.
            carried: Returns the tracing headers of a request.
        """
        self.secrets, self.poster, self.plain, self.seconds = secrets, poster, plain, seconds
        self.clock, self.capability, self.carried = clock or SystemClock(), capability, carried

    async def start(self, launch: Launch) -> LaunchResponse:
        """Send the run. The response carries the retry delay (`Retry-After`) that the target requests."""
        keys = self.secrets.of_identity(launch.run.identity)
        try:
            url = read_url(launch.job.target, plain=self.plain)
        except KronError as error:
            return LaunchResponse(LaunchResult.REJECTED, excerpt=error.message)
        if not keys:
            return LaunchResponse(LaunchResult.REJECTED, excerpt="no webhook secret is configured")
        report = self.capability(launch) if self.capability else None
        body = json.dumps(self._event(launch, report), separators=(",", ":")).encode()
        return await self._send(url, keys, launch, body, report["token"] if report else "")

    def lane(self, job: Job) -> str:
        """Return the target's host in its normal form. Launches share slots and limits by host."""
        return normal_host(urlsplit(job.target).hostname or "")

    async def cancel(self, run: Run) -> None:
        """Do nothing: a webhook that was sent cannot be canceled."""

    async def _send(
        self, url: Url, keys: list[bytes], launch: Launch, body: bytes, report_token: str
    ) -> LaunchResponse:
        now, key, tenant = int(self.clock.now()), launch.run.key, self.secrets.tenant_of(launch.run.identity)
        webhook = launch.job.webhook
        headers = {
            **dict(webhook.headers if webhook else ()),
            "Content-Type": "application/cloudevents+json",
            "User-Agent": "kron",
            "webhook-id": key,
            "webhook-timestamp": str(now),
            "webhook-signature": (signature := sign(keys, key, now, body)),
            **self.carried(),
        }
        try:
            method = webhook.method if webhook else "POST"
            reply = await self.poster.post(url, headers, body, self.seconds, tenant, method=method)
        except (NotSent, PartiallySent) as error:
            return unanswered(error)
        return response_of(reply, key, now, [*signature.split(), report_token], webhook)

    def _event(self, launch: Launch, report: dict[str, str] | None) -> dict[str, Any]:
        """Return the CloudEvent. Everything that matters is in the body, because only the body is signed."""
        run, payload = launch.run, launch.job.payload
        tenant = self.secrets.tenant_of(run.identity)
        name = run.identity.removeprefix(f"{tenant}/") if tenant else run.identity
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
                **({"payload": json.loads(payload)} if payload is not None else {}),
            },
        }


def unanswered(error: NotSent | PartiallySent) -> LaunchResponse:
    """Return the launch response of a request without a response, with the reason."""
    if isinstance(error, PartiallySent):
        return LaunchResponse(LaunchResult.UNKNOWN, excerpt=str(error))
    result = LaunchResult.REJECTED if isinstance(error, Forbidden) else LaunchResult.RETRYABLE
    return LaunchResponse(result, excerpt=str(error))


def response_of(
    reply: Reply, key: str, now: int, secrets: Iterable[str], webhook: Webhook | None = None
) -> LaunchResponse:
    """Return the launch response of an HTTP response.

    Args:
        reply: The HTTP response.
        key: Key of the run.
        now: Current time in seconds.
        secrets: Texts of the request that a body can repeat and that must not be kept.
        webhook: Options of the webhook.
    """
    result = launch_result_of(reply, key, webhook)
    report = report_of(reply) if result is LaunchResult.OK else None
    is_failure = result is not LaunchResult.OK or report is Report.FAILED
    excerpt = body_excerpt(reply, secrets) if is_failure else ""
    return LaunchResponse(result, retry_delay_ms(reply, now), report=report, code=reply.status, excerpt=excerpt)


def body_excerpt(reply: Reply, secrets: Iterable[str]) -> str:
    """Return the beginning of a body as an excerpt, without the secrets of its request."""
    text = reply.body.decode("utf-8", "replace")
    for secret in filter(None, secrets):
        text = text.replace(secret, "…").replace(secret.replace("/", "\\/"), "…")
    return excerpt_of(text)


def launch_result_of(reply: Reply, key: str, webhook: Webhook | None = None) -> LaunchResult:
    """Return the launch result of a response. The options of the webhook can name the status codes that are OK.

    A 409 that names the key in `webhook-id` or in its body is OK: the receiver has already accepted the run.
    """
    if accepts(webhook, reply.status):
        return LaunchResult.OK
    if reply.status == 409 and (reply.headers.get("webhook-id") == key or key.encode() in reply.body):
        return LaunchResult.OK
    if reply.status in RETRYABLE_STATUSES or reply.status >= 500:
        return LaunchResult.RETRYABLE
    return LaunchResult.REJECTED


def report_of(reply: Reply) -> Report | None:
    """Return the report in a response body, such as `{"run": "success"}`; None if the body holds none."""
    if not reply.body.startswith(b"{") or len(reply.body) > MAX_REPORT_BYTES:
        return None
    try:
        content = json.loads(reply.body)
    except (ValueError, RecursionError):
        return None
    return next((report for report in _WEBHOOK_REPORTS if report == content.get("run")), None)


def retry_delay_ms(reply: Reply, now: int) -> int:
    """Return the retry delay (`Retry-After`) in milliseconds that the target requests; 0 if it requests none."""
    text = reply.headers.get("retry-after", "")
    if text.isascii() and text.isdigit() and len(text) <= MAX_RETRY_DIGITS:
        return min(int(text) * 1000, MAX_RETRY_AFTER_MS)
    try:
        retry_at = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return 0
    retry_at = retry_at if retry_at.tzinfo else retry_at.replace(tzinfo=UTC)
    return max(0, int((retry_at - datetime.fromtimestamp(now, UTC)).total_seconds() * 1000))
