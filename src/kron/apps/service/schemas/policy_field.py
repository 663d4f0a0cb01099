"""Policy fields: which field of a definition sets which axis of a policy, and in which unit."""

from __future__ import annotations

from typing import Any, NamedTuple

from kron.apps.service.preset import CATCHUPS
from kron.apps.service.schemas.requests import PolicyFields
from kron.errors import InvalidInput
from kron.timing.schedule.policy import KRON, MILLISECOND, OVERLAP_NAMES, AfterEnd, Completion, Overlap, Policy


class PolicyField(NamedTuple):
    """Field of a definition: the axis that it sets, and the unit of its number (1 for counts)."""

    axis: str
    unit: int = 1


POLICY_FIELDS = {
    "jitter_ms": PolicyField("jitter", MILLISECOND),
    "overlap_policy": PolicyField("overlap"),
    "overlap_limit": PolicyField("overlap_limit"),
    "catchup_policy": PolicyField("catchup"),
    "completion": PolicyField("completion"),
    "deadline_ms": PolicyField("deadline", MILLISECOND),
    "launch_attempts": PolicyField("launch_attempts"),
    "launch_backoff_ms": PolicyField("launch_backoff", MILLISECOND),
    "launch_factor": PolicyField("launch_factor"),
    "launch_max_delay_ms": PolicyField("launch_max_delay", MILLISECOND),
    "launch_jitter_percent": PolicyField("launch_jitter"),
    "retry_delay_ms": PolicyField("retry_after", MILLISECOND),
    "retry_attempts": PolicyField("retry_attempts"),
    "retry_factor": PolicyField("retry_factor"),
    "retry_max_delay_ms": PolicyField("retry_max_delay", MILLISECOND),
    "retry_jitter_percent": PolicyField("retry_jitter"),
    "timeout_ms": PolicyField("timeout", MILLISECOND),
    "max_runs": PolicyField("max_runs"),
    "pause_on_failure": PolicyField("pause_on_failure"),
    "after_end": PolicyField("after_end"),
}
_CATCHUP_NAMES = {catchup: name for name, catchup in CATCHUPS.items()}


def given_axes(definition: PolicyFields) -> dict[str, Any]:
    """Return the axes that a definition sets."""
    return {
        field.axis: _value_of(field, value)
        for name, field in POLICY_FIELDS.items()
        if (value := getattr(definition, name)) is not None
    }


def described_policy(policy: Policy) -> dict[str, Any]:
    """Return the fields of a policy. `given_axes` reads them as the same axes."""
    return {name: _shown(field, getattr(policy, field.axis)) for name, field in POLICY_FIELDS.items()}


def check_policy(policy: Policy) -> None:
    """Reject a field that has no effect without another one. A field with its default value is no mistake.

    Raises:
        InvalidInput: `details` names the field.
    """
    if policy.overlap_limit is not None and policy.overlap is not Overlap.ALLOW:
        raise _useless("overlap_limit", "it limits overlap_policy allow only", "use overlap_policy allow, or remove it")
    retry_axes = ("retry_attempts", "retry_factor", "retry_max_delay", "retry_jitter")
    changed_axes = [axis for axis in retry_axes if getattr(policy, axis) != getattr(KRON, axis)]
    if changed_axes and policy.retry_after is None:
        name = next(name for name, field in POLICY_FIELDS.items() if field.axis in changed_axes)
        raise _useless(name, "without retry_delay_ms, a failed run does not run again", "add retry_delay_ms")


def _value_of(field: PolicyField, value: Any) -> Any:
    match field.axis:
        case "overlap":
            return OVERLAP_NAMES[value]
        case "catchup":
            return CATCHUPS[value]
        case "completion":
            return Completion(value)
        case "after_end":
            return AfterEnd(value)
        case _:
            return value * field.unit


def _shown(field: PolicyField, value: Any) -> Any:
    if value is None or isinstance(value, int):
        return None if value is None else value // field.unit
    return _CATCHUP_NAMES.get(value, str(value))


def _useless(name: str, reason: str, hint: str) -> InvalidInput:
    return InvalidInput("BAD_FIELD", f"invalid field {name}: {reason}", hint=hint, details={"field": name})
