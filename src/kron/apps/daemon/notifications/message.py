"""Message: what a notification says, as JSON for a program or as a mail. Nothing of it is read by a shell."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from kron.language.notification_form import Occasion
from kron.timing.zone import rfc3339

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_MAX_SUBJECT = 200  # characters
_VERBS = {
    Occasion.FAILURE: "failed",
    Occasion.MISSED: "missed",
    Occasion.RECOVERY: "succeeded again",
    Occasion.LATE: "started late",
    Occasion.OUTPUT: "has output",
}


@dataclass(frozen=True, slots=True)
class Message:
    """What happened to a run, or to several missed periods.

    Attributes:
        events: Occasions, the most important one first.
        identity: Identity of the job.
        key: Key of the run; empty for several missed periods.
        period: Nominal time of the run, or of the first missed period.
        last_period: Nominal time of the last period.
        periods: Number of periods; 1 for a run.
        state: State of the run.
        reason: Reason of the state; empty if there is none.
        exit_status: Exit status of the command; None if it is not known.
        text: Text of the last attempt, if it failed.
        repeats: Problems with the same cause since the last message.
        output: End of the captured output.
    """

    events: tuple[Occasion, ...]
    identity: str
    key: str
    period: int
    last_period: int
    periods: int
    state: str
    reason: str = ""
    exit_status: int | None = None
    text: str = ""
    repeats: int = 0
    output: str = ""

    @property
    def job(self) -> str:
        """Table and name of the job, as `krontab` takes them."""
        path, _, name = self.identity.rpartition(":")
        return f"{path.rpartition('/')[2]}:{name}"

    def as_json(self) -> bytes:
        """Return the message as one line of JSON."""
        times = {"period": rfc3339(self.period), "last_period": rfc3339(self.last_period)}
        names = {"events": list(map(str, self.events)), "job": self.job, "host": socket.gethostname()}
        return json.dumps(asdict(self) | times | names).encode() + b"\n"

    def as_mail(self, addresses: Sequence[str]) -> bytes:
        """Return the message as a mail. No text can add a header: control characters become spaces."""
        from email.message import EmailMessage  # not needed by a daemon that sends no mail

        mail = EmailMessage()
        mail["To"] = ", ".join(addresses)
        mail["Subject"] = _on_one_line(f"krond on {socket.gethostname()}: {self.job} {_VERBS[self.events[0]]}")[
            :_MAX_SUBJECT
        ]
        mail["Auto-Submitted"] = "auto-generated"
        mail["X-Kron-Job"] = _on_one_line(self.identity)
        mail["X-Kron-Events"] = ", ".join(self.events)
        mail.set_content(self._body())
        return mail.as_bytes()

    def _body(self) -> str:
        span = rfc3339(self.period)
        if self.periods > 1:
            span += f" to {rfc3339(self.last_period)} ({self.periods:,} periods)"
        lines = [f"job:     {_on_one_line(self.identity)}", f"host:    {socket.gethostname()}", f"period:  {span}"]
        lines.append(f"state:   {self.state}{f' ({self.reason})' if self.reason else ''}")
        lines += [] if self.exit_status is None else [f"status:  {self.exit_status}"]
        lines += [f"text:    {_on_one_line(self.text)}"] if self.text else []
        lines += [f"repeats: {self.repeats} more since the last message"] if self.repeats else []
        lines += [f"run:     {self.key}"] if self.key else []
        lines += ["", self.output] if self.output else []
        return "\n".join(lines) + "\n"


def _on_one_line(text: str) -> str:
    return _CONTROL.sub(" ", text)
