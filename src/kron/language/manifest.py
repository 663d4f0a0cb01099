"""Jobs as named fields instead of one line, as in a manifest, a form or an API request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kron.errors import InvalidInput, LanguageError, clip, did_you_mean
from kron.language.dialect import split_name
from kron.language.door import FORM
from kron.language.fault import Fault
from kron.language.kron import assemble
from kron.language.modifier_args import READERS
from kron.language.opinion import with_opinion
from kron.language.options import Options
from kron.language.quoting import quote
from kron.language.reading import read
from kron.language.source import shared_source, source_of
from kron.language.tokens import check_text
from kron.timing.decision import checked_identity
from kron.timing.job import Job
from kron.timing.schedule.policy import KRON
from kron.timing.zone import UTC_ZONE

DIALECT = "kron"  # dialect of a schedule that names none
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
_OTHER_NAMES = {"url": "target", "id": "identity", "cron": "schedule", "cmd": "command", "tz": "timezone"}
_SEPARATE_MODIFIERS = ("tz", "policy")  # modifiers that are fields of their own, and not part of the source text


def define(fields: Mapping[str, Any], names: Sequence[str] = FIELDS) -> Job:
    """Return the job that the fields describe. Its schedule equals that of the same values on one line.

    That line is the source text of the job, without `@tz` and `@policy`, which are not part of the text.

    Args:
        fields: Values by field name; the names are in `FIELDS`. `distribution` and `policy` are mappings of their
            parameters; the distribution has its `name` in it. `constraints` has `only` and `avoid`, each with the
            body of the modifier. None means that the field is not set.
        names: Names that the author of the fields can use, for a hint. The caller has taken out those that are not in
            `FIELDS`.

    Raises:
        InvalidInput: A field is unknown, missing or invalid.
        LanguageError: The text of a field is invalid.
    """
    values = _checked_fields(fields, names)
    identity, schedule_text = values["identity"], values["schedule"]
    bodies = _modifier_bodies(values)
    parts = {name: _read_body(name, body) for name, body in bodies.items()}
    named = split_name(schedule_text)
    if named and named.dialect != DIALECT:
        return _define_named(identity, schedule_text, bodies, parts)
    schedule_text = named.text if named else schedule_text
    try:
        parsed_schedule = assemble(schedule_text, parts)
    except Fault as fault:
        options = Options(identity=identity)
        raise with_opinion(fault, schedule_text, DIALECT, options, FORM).within(schedule_text, "schedule") from None
    line = " ".join(
        [schedule_text, *(f"@{name}({body})" for name, body in bodies.items() if name not in _SEPARATE_MODIFIERS)]
    )
    return Job(identity, parsed_schedule, source=shared_source(line, DIALECT, parsed_schedule.zone.name))


def _checked_fields(fields: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the fields that are set. Reject unknown ones, a missing or invalid identity, and a missing schedule."""
    for field in fields:
        if field not in FIELDS:
            close = _OTHER_NAMES.get(str(field).lower(), "")
            listed = did_you_mean(str(field), names, f"use one of {', '.join(names)}")
            hint = f"did you mean '{close}'?" if close in names else listed
            raise InvalidInput("UNKNOWN_FIELD", f"unknown field {clip(str(field))!r}", hint=hint)
    values = {field: value for field, value in fields.items() if value is not None}
    for field in ("identity", "schedule"):
        if not values.get(field):
            raise InvalidInput("MISSING_FIELD", f"field {field} is missing", hint=f"add {field}")
    for field in ("identity", "schedule"):
        _checked_text(values[field], field)
    try:
        checked_identity(values["identity"])
    except ValueError as error:
        raise _invalid_field("identity", str(error), "use one line of text") from None
    return values


def _define_named(identity: str, text: str, bodies: Mapping[str, str], parts: Mapping[str, Any]) -> Job:
    """Return the job of a text that names another dialect. Such a text has no modifiers, neither do its fields."""
    for name in bodies:
        if name not in _SEPARATE_MODIFIERS:
            field = _SOURCE_NAMES.get(name, f"constraints.{name}")
            raise _invalid_field(field, "only the kron dialect has it", "remove the field, or write a kron schedule")
    options = Options(parts.get("tz", UTC_ZONE), replace(KRON, **parts.get("policy", {})), identity=identity)
    try:
        reading = read(text, None, options, door=FORM)
    except LanguageError as error:
        error.place = error.place._replace(source="schedule")
        raise
    return Job(identity, reading.schedule, source=source_of(reading.text, reading.dialect, reading.schedule))


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
