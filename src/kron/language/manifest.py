"""Jobs as named fields instead of one line, as in a manifest, a form or an API request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kron.errors import InvalidInput, clip, did_you_mean
from kron.language.fault import Fault
from kron.language.kron import assemble
from kron.language.modifier_args import READERS
from kron.language.quoting import quote
from kron.language.source import shared_source
from kron.language.tokens import check_text
from kron.timing.decision import checked_identity
from kron.timing.job import Job

FIELDS = (
    "identity",
    "schedule",
    "timezone",
    "window_mode",
    "window_duration",
    "distribution",
    "seed_strategy",
    "salt",
    "constraints",
    "policy",
)
_SEPARATE_MODIFIERS = ("tz", "policy")  # modifiers that are fields of their own, and not part of the source text


def define(fields: Mapping[str, Any]) -> Job:
    """Return the job that the fields describe. Its schedule equals that of the same values on one line.

    That line is the source text of the job, without `@tz` and `@policy`, which are not part of the text.

    Args:
        fields: Values by field name; the names are in `FIELDS`. `distribution` and `policy` are mappings of their
            parameters; the distribution has its `name` in it. `constraints` has `only` and `avoid`, each with the
            body of the modifier. None means that the field is not set.

    Raises:
        InvalidInput: A field is unknown, missing or invalid.
        LanguageError: The text of a field is invalid.
    """
    for field in fields:
        if field not in FIELDS:
            hint = did_you_mean(str(field), FIELDS, f"use one of {', '.join(FIELDS)}")
            raise InvalidInput("UNKNOWN_FIELD", f"unknown field {clip(str(field))!r}", hint=hint)
    values = {field: value for field, value in fields.items() if value is not None}
    for field in ("identity", "schedule"):
        if not values.get(field):
            raise InvalidInput("MISSING_FIELD", f"field {field} is missing", hint=f"add {field}")
    identity, schedule_text = (
        _checked_text(values["identity"], "identity"),
        _checked_text(values["schedule"], "schedule"),
    )
    try:
        checked_identity(identity)
    except ValueError as error:
        raise _invalid_field("identity", str(error), "use one line of text") from None
    bodies = _modifier_bodies(values)
    parts = {name: _read_body(name, body) for name, body in bodies.items()}
    try:
        parsed_schedule = assemble(schedule_text, parts)
    except Fault as fault:
        raise fault.within(schedule_text, "schedule") from None
    line = " ".join(
        [schedule_text, *(f"@{name}({body})" for name, body in bodies.items() if name not in _SEPARATE_MODIFIERS)]
    )
    return Job(identity, parsed_schedule, source=shared_source(line, "kron", parsed_schedule.zone.name))


def _modifier_bodies(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the body of each modifier that the fields set."""
    bodies = {"tz": _checked_text(values.get("timezone", ""), "timezone")}
    if "window_mode" in values or "window_duration" in values:
        bodies["win"] = ",".join(
            [_single_value(values, "window_mode", "after"), _single_value(values, "window_duration", "0s")]
        )
    if "distribution" in values:
        parameters = _checked_mapping(values, "distribution")
        name = _single_value(parameters, "name", "uniform")
        bodies["dist"] = ",".join([name, *_write_parameters({k: v for k, v in parameters.items() if k != "name"})])
    if "seed_strategy" in values or "salt" in values:
        salt = _checked_text(values.get("salt", ""), "salt")
        bodies["seed"] = ",".join(
            [_single_value(values, "seed_strategy", "stable"), *([f"salt={quote(salt)}"] if salt else [])]
        )
    bodies["policy"] = ",".join(_write_parameters(_checked_mapping(values, "policy")))
    for name, clauses in _checked_mapping(values, "constraints").items():
        if name not in ("only", "avoid"):
            raise InvalidInput("UNKNOWN_FIELD", f"unknown constraint {clip(name)!r}", hint="use only or avoid")
        bodies[name] = _checked_text(clauses, name)
    return {name: body for name, body in bodies.items() if body}


def _checked_mapping(values: Mapping[str, Any], field: str) -> dict[str, Any]:
    value = values.get(field, {})
    if not isinstance(value, Mapping):
        raise _invalid_field(field, "the value is not a mapping", "use a mapping of names to values")
    return {str(key): item for key, item in value.items() if item is not None}


def _write_parameters(values: Mapping[str, Any]) -> list[str]:
    return [f"{key}={_single_value(values, key, '')}" for key in values]


def _single_value(values: Mapping[str, Any], key: str, default: str) -> str:
    """Return a single value as text. A comma is rejected because it would add a second parameter."""
    value = values.get(key, default)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if "," in key + text:
        raise _invalid_field(key, "the value contains a comma", "use one value")
    return _checked_text(text, key)


def _checked_text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise _invalid_field(field, "the value is not a string", "use a string, quoted if the file format requires it")
    try:
        check_text(value)
    except Fault as fault:
        raise _invalid_field(field, fault.message, fault.hint) from None
    return value


def _invalid_field(field: str, reason: str, hint: str) -> InvalidInput:
    return InvalidInput("BAD_FIELD", f"field {clip(field)} is invalid: {reason}", hint=hint)


def _read_body(name: str, body: str) -> Any:
    try:
        return READERS[name](body)
    except Fault as fault:
        raise fault.within(body, _SOURCE_NAMES.get(name, f"constraints.{name}")) from None


_SOURCE_NAMES = {"tz": "timezone", "win": "window", "dist": "distribution", "seed": "seed", "policy": "policy"}
