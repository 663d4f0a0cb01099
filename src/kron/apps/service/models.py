"""What the interface takes: nothing but what is named here, and each of it of its own kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

NO_NUL = r"^[^\x00]*$"  # which not every database keeps

Text = Annotated[str, Field(max_length=200, min_length=1, pattern=r"^[^\x00-\x1f\x7f]*$")]
Expression = Annotated[str, Field(max_length=1_000, min_length=1, json_schema_extra={"format": "cron"})]
Instant = Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})]
Zone = Annotated[Text, Field(json_schema_extra={"format": "iana-zone"})]
Target = Annotated[str, Field(max_length=2_048, min_length=1, json_schema_extra={"format": "uri"})]
Note = Annotated[str, Field(max_length=1_000, pattern=NO_NUL)]
Whole = Annotated[int, Field(ge=0, le=2**31 - 1)]
Jitter = Annotated[int, Field(ge=0, le=86_400_000)]
Overlap = Literal["allow", "skip", "queue"]
Catchup = Literal["none", "fire_immediately", "spread"]
Completion = Literal["accepted", "reported"]
Id = Annotated[str, Field(max_length=200, min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:~-]*$")]
RunKey = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Strict(BaseModel):
    """A field that is not named is refused, and nothing is turned into another kind."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Upsert(Strict):
    """A schedule, by the names of the cron-service document."""

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
    """The pause of the document."""

    schedule_id: Id
    paused: bool


class Start(Strict):
    """What the run launcher is asked. `run_at` and `idem_key` are other names for the last two."""

    workflow_id: Text
    version: Whole
    user_id: Text
    scheduled_for: Annotated[Instant, Field(validation_alias=AliasChoices("scheduled_for", "run_at"))]
    idempotency_key: Annotated[
        str, Field(pattern=r"^[0-9a-f]{64}$", validation_alias=AliasChoices("idempotency_key", "idem_key"))
    ]


class Definition(Strict):
    """A schedule: when, and what is called then: either a `target`, or a workflow with its version and user."""

    schedule: Expression
    dialect: Literal["service", "kron", "posix", "fuzzy"] = "service"
    timezone: Zone | None = None
    target: Target | None = None
    workflow_id: Text | None = None
    version: Whole | None = None
    user_id: Text | None = None
    description: Note = ""
    start_at: Instant | None = None
    end_at: Instant | None = None
    jitter_ms: Jitter | None = None
    overlap_policy: Overlap | None = None
    catchup_policy: Catchup | None = None
    completion: Completion | None = None
    deadline_ms: Annotated[int, Field(ge=0, le=366 * 86_400_000)] | None = None
    note: Note = Field(default="", description="why it is defined so; kept with the revision")


class Patch(Strict):
    """What of a definition is to change. What is null is taken away; what is not named stays."""

    schedule: Expression | None = None
    dialect: Literal["service", "kron", "posix", "fuzzy"] | None = None
    timezone: Zone | None = None
    target: Target | None = None
    workflow_id: Text | None = None
    version: Whole | None = None
    user_id: Text | None = None
    description: Note | None = None
    start_at: Instant | None = None
    end_at: Instant | None = None
    jitter_ms: Jitter | None = None
    overlap_policy: Overlap | None = None
    catchup_policy: Catchup | None = None
    completion: Completion | None = None
    deadline_ms: Annotated[int, Field(ge=0, le=366 * 86_400_000)] | None = None
    note: Note | None = None


class Line(Definition):
    """A line of a bulk upsert."""

    id: Id


class Question(Strict):
    """A definition that is only asked about: when would it run?"""

    id: Id = "preview"
    definition: Definition


class Reasoned(Strict):
    """Why something is done; kept with it."""

    note: Note = ""


class Pausing(Reasoned):
    """A pause: why, and until when."""

    until: Instant | None = None


class Range(Reasoned):
    """Periods to run again: those from the one instant to the other, both included."""

    first: Instant
    last: Instant
    overlap: Overlap = "queue"


class Said(Strict):
    """What a target says of a run; of which attempt, if it knows."""

    status: Literal["started", "success", "failed"]
    attempt: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
