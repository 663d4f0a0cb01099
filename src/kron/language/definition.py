"""A job as named fields rather than as one line: what a manifest, a form or an API hands over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kron.core.job import Job
from kron.errors import KronError, clip, did_you_mean
from kron.language.fields import Fault
from kron.language.modifiers import READERS, assemble
from kron.language.quoting import quote

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


def define(fields: Mapping[str, Any]) -> Job:
    """The job that the fields describe. Its schedule equals that of the same words on one line.

    `distribution` and `policy` are mappings of their parameters, the distribution's with its `name`;
    `constraints` holds `only` and `avoid`, each the text that the modifier would hold.
    """
    for field in fields:
        if field not in FIELDS:
            hint = did_you_mean(field, FIELDS, f"the fields are {', '.join(FIELDS)}")
            raise KronError("UNKNOWN_FIELD", f"a job has no field {clip(field)!r}", hint=hint)
    for field in ("identity", "schedule"):
        if not fields.get(field):
            raise KronError("MISSING_FIELD", f"a job needs {field}", hint=f"give {field}")
    parts = {name: _read(name, body) for name, body in _bodies(fields).items()}
    schedule = str(fields["schedule"])
    try:
        return Job(str(fields["identity"]), assemble(schedule, parts))
    except Fault as fault:
        raise fault.within(schedule) from None


def _bodies(fields: Mapping[str, Any]) -> dict[str, str]:
    """What each modifier would hold, for those that are asked for."""
    bodies = {"tz": fields.get("timezone", "")}
    if "window_mode" in fields or "window_duration" in fields:
        bodies["win"] = f"{fields.get('window_mode', 'after')},{fields.get('window_duration', '0s')}"
    if "distribution" in fields:
        parameters = dict(fields["distribution"])
        bodies["dist"] = ",".join([str(parameters.pop("name", "uniform")), *_pairs(parameters)])
    if "seed_strategy" in fields or "salt" in fields:
        salt = [f"salt={quote(fields['salt'])}"] if fields.get("salt") else []
        bodies["seed"] = ",".join([fields.get("seed_strategy", "stable"), *salt])
    bodies["policy"] = ",".join(_pairs(fields.get("policy", {})))
    return {name: body for name, body in {**bodies, **fields.get("constraints", {})}.items() if body}


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in values.items()]


def _read(name: str, body: str) -> Any:
    if name not in READERS:
        raise KronError("UNKNOWN_FIELD", f"constraints have no {clip(name)!r}", hint="they are only and avoid")
    try:
        return READERS[name](body)
    except Fault as fault:
        raise fault.within(body) from None
