"""Errors of the declarative scheduler, with the class, message and details of the specification."""

from __future__ import annotations

from collections.abc import Mapping

from kron.errors import KronError


class SchedulerError(KronError):
    """Error of the scheduler; by itself an unexpected one, with the original in `details["cause"]`."""

    def __init__(self, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(type(self).__name__, message, details=details)
        self.args = (message, dict(details or {}))

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.message, self.details)


def _again(kind: type[SchedulerError], message: str, details: Mapping[str, object]) -> SchedulerError:
    """Return the error unchanged when it is unpickled."""
    error = kind.__new__(kind)
    SchedulerError.__init__(error, message, details)
    return error


class RegistrationsNotArrayError(SchedulerError):
    """The registrations are not a list."""

    def __init__(self) -> None:
        super().__init__("Registrations must be an array")


class RegistrationShapeError(SchedulerError):
    """A registration does not consist of four values of the right types."""

    def __init__(self, index: int, received: object) -> None:
        message = "Invalid registration shape: expected [string, string, function, Duration]"
        super().__init__(message, {"registrationIndex": index, "received": received})


class InvalidRegistrationError(SchedulerError):
    """A registration has the right shape, but an invalid value."""

    def __init__(self, field: str, value: object, reason: str) -> None:
        super().__init__(f"Invalid registration: {field} {reason}", {"field": field, "value": value, "reason": reason})


class ScheduleDuplicateTaskError(SchedulerError):
    """Two registrations have the same name."""

    def __init__(self, name: str) -> None:
        super().__init__(f'Task with name "{name}" is already scheduled', {"taskName": name})


class SchedulerAlreadyActiveError(SchedulerError):
    """The scheduler is initializing or running."""

    def __init__(self, state: str) -> None:
        super().__init__(f"Cannot initialize scheduler: scheduler is already {state}", {"currentState": state})


class NegativeRetryDelayError(SchedulerError):
    """A retry delay is negative."""

    def __init__(self, milliseconds: float) -> None:
        super().__init__("Retry delay must be non-negative", {"retryDelayMs": milliseconds})


class FieldParseError(SchedulerError):
    """A field of a cron expression is invalid."""

    def __init__(self, name: str, value: str, reason: str) -> None:
        super().__init__(f"{name} field {reason}", {"fieldValue": value, "fieldName": name})


class InvalidCronExpressionError(SchedulerError):
    """A cron expression is invalid."""

    def __init__(self, expression: str, field: str, reason: str, cause: Exception | None = None) -> None:
        details = {"expression": expression, "field": field, "reason": reason}
        message = f'Invalid cron expression "{expression}": {field} field {reason}'
        super().__init__(message, details if cause is None else details | {"cause": cause})


class CronExpressionInvalidError(InvalidCronExpressionError):
    """The cron expression of a registration is invalid."""


class CronCalculationError(SchedulerError):
    """A cron expression has no next occurrence."""

    def __init__(self, expression: str, now: str, cause: Exception) -> None:
        details = {"expression": expression, "currentTime": now, "cause": cause}
        super().__init__(f"Failed to calculate next occurrence: {cause}", details)


class TaskTryDeserializeError(SchedulerError):
    """A persisted task is unreadable."""

    def __init__(self, message: str, field: str, value: object, expected: str) -> None:
        super().__init__(message, {"field": field, "value": value, "expectedType": expected})


class TaskMissingFieldError(TaskTryDeserializeError):
    """A persisted task lacks a field."""

    def __init__(self, field: str) -> None:
        SchedulerError.__init__(self, f"Missing required field: {field}", {"field": field})


class TaskInvalidTypeError(TaskTryDeserializeError):
    """A field of a persisted task has the wrong type."""

    def __init__(self, field: str, value: object, expected: str, actual: str) -> None:
        message = f"Invalid type for field '{field}': expected {expected}, got {actual}"
        details = {"field": field, "value": value, "expectedType": expected, "actualType": actual}
        SchedulerError.__init__(self, message, details)


class TaskInvalidValueError(TaskTryDeserializeError):
    """A field of a persisted task has an invalid value."""

    def __init__(self, field: str, value: object, reason: str) -> None:
        message = f"Invalid value for field '{field}': {reason}"
        SchedulerError.__init__(self, message, {"field": field, "value": value, "reason": reason})


class TaskInvalidStructureError(TaskTryDeserializeError):
    """A persisted task has an invalid structure."""

    def __init__(self, message: str, value: object) -> None:
        SchedulerError.__init__(self, message, {"value": value})
