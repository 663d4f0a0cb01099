"""Request bodies of the HTTP API. Unknown fields and values of another type are rejected.

The models check requests and document the API. `job_of` reads a request into a `Job`, which is the definition.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from kron.language.dialect import DialectName

NO_NUL = r"^[^\x00]*$"  # not every database can store NUL

Text = Annotated[str, Field(max_length=200, min_length=1, pattern=r"^[^\x00-\x1f\x7f]*$")]
Expression = Annotated[str, Field(max_length=1_000, min_length=1, json_schema_extra={"format": "cron"})]
Instant = Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})]
Zone = Annotated[Text, Field(json_schema_extra={"format": "iana-zone"})]
Target = Annotated[str, Field(max_length=2_048, min_length=1, json_schema_extra={"format": "uri"})]
Note = Annotated[str, Field(max_length=1_000, pattern=NO_NUL)]
Whole = Annotated[int, Field(ge=0, le=2**31 - 1)]
Jitter = Annotated[int, Field(ge=0, le=86_400_000)]
Overlap = Literal["allow", "skip", "queue"]
OverlapName = Literal[
    "allow", "skip", "queue", "coalesce", "replace",
    "AllowAll", "Skip", "BufferAll", "BufferOne", "CancelOther", "TerminateOther",
]  # fmt: skip
Milliseconds = Annotated[int, Field(ge=0, le=366 * 86_400_000)]
Timeout = Annotated[int, Field(ge=1, le=366 * 86_400_000)]
Limit = Annotated[int, Field(ge=1, le=1_000_000)]
Factor = Annotated[int, Field(ge=1, le=100)]
Percent = Annotated[int, Field(ge=0, le=100)]
Catchup = Literal["none", "fire_immediately", "spread"]
Completion = Literal["accepted", "reported"]
Dst = Annotated[str, Field(max_length=100, min_length=1, pattern=NO_NUL)]
Id = Annotated[str, Field(max_length=200, min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:~-]*$")]
RunKey = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Strict(BaseModel):
    """Model that rejects unknown fields and does not convert types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Upsert(Strict):
    """A schedule, with the field names of the cron-service specification."""

    schedule_id: Id | None = None
    workflow_id: Text
    version: Whole
    user_id: Text
    cron_expr: Expression
    timezone: Zone
    start_at: Instant | None = None
    end_at: Instant | None = None
    jitter_ms: Jitter | None = None
    overlap_policy: Overlap | None = None
    catchup_policy: Catchup | None = None
    completion: Completion | None = None


class Pause(Strict):
    """Pause request of the cron-service specification."""

    schedule_id: Id
    paused: bool


class Start(Strict):
    """Request to the run launcher. `run_at` and `idem_key` are alternative names of the last two fields."""

    workflow_id: Text
    version: Whole
    user_id: Text
    scheduled_for: Annotated[Instant, Field(validation_alias=AliasChoices("scheduled_for", "run_at"))]
    idempotency_key: Annotated[
        str, Field(pattern=r"^[0-9a-f]{64}$", validation_alias=AliasChoices("idempotency_key", "idem_key"))
    ]


class WebhookOptions(Strict):
    """How a webhook is sent: method, additional headers, and the status codes that accept a run."""

    method: Literal["POST", "PUT", "PATCH"] = "POST"
    headers: dict[str, str] = {}
    success: Annotated[str, Field(max_length=200)] = "200-299"


Labels = Annotated[dict[str, str], Field(max_length=32, description="up to 32 keys with their values")]
Payload = Annotated[JsonValue, Field(description="JSON value that the target receives; up to 64 KiB")]
DST_MEANING = (
    "rule for clock changes, the body of `@dst`: `once`, `wall`, or keys such as `gap=after,fold=first`. It becomes "
    "part of `schedule`, whose text is then canonical"
)


class PolicyFields(Strict):
    """Policy of a schedule, where it differs from the settings of the service."""

    jitter_ms: Jitter | None = None
    overlap_policy: OverlapName | None = Field(
        default=None, description="the names of Temporal are aliases; responses show the name of Kron"
    )
    overlap_limit: Limit | None = Field(default=None, description="maximum number of active runs under `allow`")
    catchup_policy: Catchup | None = None
    completion: Completion | None = None
    deadline_ms: Milliseconds | None = None
    launch_attempts: Limit | None = Field(
        default=None, description="maximum attempts of one launch; by default until the deadline, or for 10 minutes"
    )
    launch_backoff_ms: Milliseconds | None = Field(default=None, description="delay before the second attempt")
    launch_factor: Factor | None = Field(default=None, description="growth of this delay with each attempt")
    launch_max_delay_ms: Milliseconds | None = Field(default=None, description="maximum delay between two attempts")
    launch_jitter_percent: Percent | None = Field(default=None, description="by how much such a delay can be shorter")
    retry_delay_ms: Milliseconds | None = Field(
        default=None, description="delay before a failed run runs again; by default it does not run again"
    )
    retry_attempts: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(
        default=None, description="maximum number of retries of a failed run; by default there is no limit"
    )
    retry_factor: Factor | None = Field(default=None, description="growth of the retry delay with each retry")
    retry_max_delay_ms: Milliseconds | None = Field(default=None, description="maximum retry delay")
    retry_jitter_percent: Percent | None = Field(default=None, description="by how much a retry delay can be shorter")
    timeout_ms: Timeout | None = Field(
        default=None, description="how long an accepted run can take, if its end is reported"
    )
    max_runs: Limit | None = Field(default=None, description="scheduled runs after which the schedule is over")
    pause_on_failure: Limit | None = Field(
        default=None, description="failed runs in a row after which the schedule is paused"
    )
    after_end: Literal["keep", "delete"] | None = Field(
        default=None, description="whether a worker deletes the schedule after its last run; by default it is kept"
    )


class Definition(PolicyFields):
    """A schedule: when it runs, and its target: either `target`, or a workflow with its version and user."""

    schedule: Expression
    dialect: DialectName = "service"
    timezone: Zone | None = None
    dst: Dst | None = Field(default=None, description=DST_MEANING)
    target: Target | None = None
    workflow_id: Text | None = None
    version: Whole | None = None
    user_id: Text | None = None
    description: Note = ""
    start_at: Instant | None = None
    end_at: Instant | None = None
    payload: Payload = None
    labels: Labels = {}
    webhook: WebhookOptions | None = None
    note: Note = Field(default="", description="reason of the definition, stored with the revision")


class Patch(PolicyFields):
    """Fields of a definition to change. A null value removes the field; an omitted field stays."""

    schedule: Expression | None = None
    dialect: DialectName | None = None
    timezone: Zone | None = None
    dst: Dst | None = Field(
        default=None, description="rule for clock changes: replaces the `@dst` of the schedule; null removes it"
    )
    target: Target | None = None
    workflow_id: Text | None = None
    version: Whole | None = None
    user_id: Text | None = None
    description: Note | None = None
    start_at: Instant | None = None
    end_at: Instant | None = None
    payload: Payload = None
    labels: Labels | None = None
    webhook: WebhookOptions | None = None
    note: Note | None = None


class Line(Definition):
    """A line of a bulk upsert."""

    id: Id


class PreviewRequest(Strict):
    """A definition to preview, without storing it."""

    id: Id = Field(default="preview", description="id of the schedule: part of the identity that decides the times")
    definition: Definition
    at: Instant | None = Field(default=None, description="as of this instant; by default now")


class NoteBody(Strict):
    """Reason of an action, stored with it."""

    note: Note = ""


class Pausing(NoteBody):
    """A pause: its reason, and its end."""

    until: Instant | None = None


class Range(NoteBody):
    """Range of periods to run again, both ends included."""

    start_at: Instant
    end_at: Instant
    overlap: Overlap = "queue"


class RunReport(Strict):
    """Report of a target about a run, and optionally the number of the attempt and the error of a failed run."""

    status: Literal["started", "success", "failed"]
    attempt: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    error: Annotated[str, Field(max_length=2_000)] | None = Field(
        default=None, description="why the run failed; 200 characters are kept with the attempt"
    )
