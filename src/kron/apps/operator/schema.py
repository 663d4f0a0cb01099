"""Schema of a KronJob: the fields of its spec and status, and the rules that the API server checks."""

from __future__ import annotations

from typing import Any

from kron.kube.names import MAX_NAME_LENGTH

Schema = dict[str, Any]
DURATION = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$"
# RFC 3339 without fractions. The format `date-time` is not used: an API server accepts a list as a value of it.
TIME = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
MAX_WINDOW = "8784h"  # a leap year
MAX_DURATION = "2562047h"  # what 64 bits of nanoseconds can hold
NAME_RULE = f"a name has at most {MAX_NAME_LENGTH} characters, because the names of its Jobs have 11 more"
LINE_RULE = "write modifiers in schedule, or use the fields, but not both"
WINDOW_RULE = f"a window has at most {MAX_WINDOW}"
DEADLINE_RULE = f"a deadline has at most {MAX_DURATION}"
TIME_RULE = "the time does not exist"
END_RULE = "endTime is before startTime"
SCHEDULE_FIELDS = ("timezone", "window", "distribution", "seed", "constraints")  # or the modifiers of a line


def text(**limits: Any) -> Schema:
    """Return the schema of a string."""
    return {"type": "string", **limits}


def number(minimum: int, maximum: int, default: int) -> Schema:
    """Return the schema of an integer."""
    return {"type": "integer", "minimum": minimum, "maximum": maximum, "default": default}


def mapping(properties: Schema, **more: Any) -> Schema:
    """Return the schema of an object with these properties."""
    return {"type": "object", **more, "properties": properties}


def root_schema() -> Schema:
    """Return the schema of a whole KronJob."""
    rules = [{"rule": f"size(self.metadata.name) <= {MAX_NAME_LENGTH}", "message": NAME_RULE}]
    properties = {"spec": _spec(), "status": _status()}
    return mapping(properties, required=["spec"], **{"x-kubernetes-validations": rules})


def _spec() -> Schema:
    duration = text(maxLength=32, pattern=DURATION)
    clauses = {"type": "array", "maxItems": 32, "items": text(minLength=1, maxLength=256)}
    parameters = {"type": "object", "maxProperties": 4, "additionalProperties": text(minLength=1, maxLength=32)}
    mode = text(enum=["after", "around"], default="after")
    distribution = text(enum=["uniform", "normal", "skewEarly", "skewLate", "exponential"])
    properties = {
        "schedule": text(minLength=1, maxLength=1024),
        "timezone": text(maxLength=64),
        "window": mapping({"mode": mode, "duration": duration}),
        "distribution": mapping({"name": distribution, "params": parameters}, required=["name"]),
        "seed": mapping({"strategy": text(enum=["stable", "daily", "weekly"]), "salt": text(maxLength=256)}),
        "constraints": mapping({"only": clauses, "avoid": clauses}),
        "policy": mapping(
            {
                "concurrency": text(enum=["allow", "forbid", "replace", "queue", "coalesce"]),
                "deadline": duration,
                "suspend": {"type": "boolean"},
                "catchup": text(enum=["by-deadline", "latest", "none"]),
            }
        ),
        "startTime": text(maxLength=25, pattern=TIME),
        "endTime": text(maxLength=25, pattern=TIME),
        "successfulJobsHistoryLimit": number(0, 1000, 3),
        "failedJobsHistoryLimit": number(0, 1000, 1),
        "jobTemplate": _template(),
    }
    return mapping(properties, required=["schedule", "jobTemplate"], **{"x-kubernetes-validations": _rules()})


def _template() -> Schema:
    """Return the schema of a Job template. Its parts are objects; the API server checks them when a Job is created."""
    unknown = {"x-kubernetes-preserve-unknown-fields": True}
    texts = {"type": "object", "additionalProperties": text()}
    metadata = mapping({"labels": texts, "annotations": texts}, **unknown)
    return mapping({"metadata": metadata, "spec": {"type": "object", **unknown}}, required=["spec"], **unknown)


def _rules() -> list[Schema]:
    """Return the rules in CEL. Servers before 1.25 drop them; the operator checks the same in `definition.py`."""
    fields = " || ".join(f"has(self.{field})" for field in SCHEDULE_FIELDS)
    has_window = "has(self.window) && has(self.window.duration)"
    has_deadline = "has(self.policy) && has(self.policy.deadline)"
    has_times = "has(self.startTime) && has(self.endTime)"
    return [
        {"rule": f"!self.schedule.contains('@') || !({fields})", "message": LINE_RULE},
        {"rule": "!self.schedule.contains('@policy(') || !has(self.policy)", "message": LINE_RULE},
        {
            "rule": f"!({has_window}) || duration(self.window.duration) <= duration('{MAX_WINDOW}')",
            "message": WINDOW_RULE,
        },
        {
            "rule": f"!({has_deadline}) || duration(self.policy.deadline) <= duration('{MAX_DURATION}')",
            "message": DEADLINE_RULE,
        },
        *({"rule": _is_time(name), "message": TIME_RULE} for name in ("startTime", "endTime")),
        {"rule": f"!({has_times}) || timestamp(self.startTime) <= timestamp(self.endTime)", "message": END_RULE},
    ]


def _is_time(name: str) -> str:
    """Return the rule that a time exists: another one, such as February 30, is an error in `timestamp`."""
    return f"!has(self.{name}) || timestamp(self.{name}) <= timestamp('9999-12-31T23:59:59Z')"


def _status() -> Schema:
    generation = {"type": "integer", "format": "int64"}
    time = text(format="date-time")
    condition = mapping(
        {
            "type": text(),
            "status": text(enum=["True", "False", "Unknown"]),
            "reason": text(),
            "message": text(),
            "lastTransitionTime": time,
            "observedGeneration": generation,
        },
        required=["type", "status"],
    )
    by_type = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    recent = {name: text() for name in ("periodID", "chosen", "outcome", "reason", "job", "end")}
    properties = {
        "observedGeneration": generation,
        "conditions": {"type": "array", **by_type, "items": condition},
        "nextRun": time,
        **{name: text() for name in ("nextPeriodID", "lastPeriodID", "lastNominalTime", "lastChosenTime")},
        "lastOutcome": text(enum=["executed", "skipped", "missed", "unschedulable"]),
        "lastReason": text(),
        "lastJob": text(),
        "lastEnd": text(enum=["success", "failed", "lost", "unknown"]),
        "lastSuccessfulTime": text(),
        "lastDecision": text(maxLength=2048),
        "active": {"type": "integer"},
        "recent": {"type": "array", "maxItems": 5, "items": mapping(recent)},
    }
    return mapping(properties)
