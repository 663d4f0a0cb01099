"""Conversion of CronJobs: each becomes a KronJob with notes on what differs, or an error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from kron.apps.operator.cronjob_lint import findings
from kron.apps.operator.cronjob_schedule import schedule_fields
from kron.apps.operator.definition import OperatorDefaults, identity_of, job_of_kronjob
from kron.errors import AlreadyExists, InvalidInput, KronError, clip
from kron.kube.kind import GROUP, KRONJOB, Body, Place
from kron.language.canonical import write_cron
from kron.language.density import Piece, spread
from kron.language.duration import write_duration
from kron.language.finding import Finding
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import Cron

MAX_HISTORY = 1_000
DEFAULT_DEADLINE = "24h"  # of a CronJob that names none
_OWN_ANNOTATIONS = ("kubectl.kubernetes.io/", f"{GROUP}/")  # of kubectl, and of a switch
_HELM_RELEASE = "meta.helm.sh/release-name"
_CONCURRENCY = {"Allow": "allow", "Replace": "replace", "Forbid": "coalesce"}
DEFAULT_NAMESPACE = "default"
_LIMITS = ("successfulJobsHistoryLimit", "failedJobsHistoryLimit")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_READ = frozenset(
    ("schedule", "timeZone", "startingDeadlineSeconds", "concurrencyPolicy", "suspend", "jobTemplate", *_LIMITS)
)


class ImportOptions(NamedTuple):
    """What the conversion of CronJobs depends on.

    Attributes:
        now: Instant after which clock changes are searched, in seconds since the epoch.
        cluster_zone: Time zone of the CronJob controller; empty if it is not known and UTC is assumed.
        strict_forbid: Whether `Forbid` becomes `forbid`, and not `coalesce`, which is what it does.
        by_windows: Whether the KronJobs have windows that spread the load.
        namespace: Namespace of objects that name none; empty if the user names none.
    """

    now: int
    cluster_zone: str = ""
    strict_forbid: bool = False
    by_windows: bool = False
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Conversion:
    """What became of a CronJob.

    Attributes:
        place: Its namespace and name.
        cronjob: The object as read.
        kronjob: The KronJob; None if there is an error.
        schedule: When the CronJob runs; None if there is an error.
        spread: The schedule with a window that spreads the load. It is that of the KronJob only `by_windows`.
        notes: What is different, or assumed.
        findings: What is probably not intended.
        error: Why there is no KronJob.
    """

    place: Place
    cronjob: Body
    kronjob: Body | None = None
    schedule: Schedule | None = None
    spread: Schedule | None = None
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    error: KronError | None = None


def convert(cronjobs: Iterable[Body], options: ImportOptions) -> Iterator[Conversion]:
    """Yield the conversion of each CronJob. Only the first of several with the same place is converted."""
    known = set[Place]()
    for cronjob in cronjobs:
        conversion = _conversion(cronjob, options)
        if conversion.place in known:
            message = f"CronJob {'/'.join(conversion.place)} occurs twice"
            error = AlreadyExists("EXISTS", message, hint="remove one of them")
            conversion = Conversion(conversion.place, cronjob, error=error)
        known.add(conversion.place)
        yield conversion


def _conversion(cronjob: Body, options: ImportOptions) -> Conversion:
    metadata = cronjob.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    place = Place(
        str(metadata.get("namespace") or options.namespace or DEFAULT_NAMESPACE), str(metadata.get("name") or "")
    )
    try:
        return _converted(place, cronjob, options)
    except KronError as error:
        return Conversion(place, cronjob, error=error)


def _converted(place: Place, cronjob: Body, options: ImportOptions) -> Conversion:
    if not place.name:
        raise InvalidInput("MISSING_FIELD", "field metadata.name is missing", hint="add metadata.name")
    for field, name in zip(("namespace", "name"), place, strict=True):
        if not _NAME.fullmatch(name):
            raise _bad_field(f"metadata.{field}", f"{clip(name)!r} is not a name", "use a name of Kubernetes")
    spec, metadata = _mapping(cronjob, "spec"), _mapping(cronjob, "metadata")
    timing = schedule_fields(cronjob, options.now, options.cluster_zone)
    policy, policy_notes = _policy(spec, options)
    limits = {name: spec[name] for name in _LIMITS if spec.get(name) is not None}
    limit_notes = [_limit_note(name, value) for name, value in limits.items() if _is_above_maximum(value)]
    limits |= {name: MAX_HISTORY for name, value in limits.items() if _is_above_maximum(value)}
    kronjob_spec = {**timing.spec, "policy": policy, **limits, "jobTemplate": spec.get("jobTemplate")}
    defaults = OperatorDefaults()
    schedule = job_of_kronjob(place, kronjob_spec, defaults).schedule
    spread_schedule = spread(Piece(schedule, identity_of(place, defaults)), "windows").schedule
    if options.by_windows:
        kronjob_spec = _with_window(kronjob_spec, schedule, spread_schedule)
        job_of_kronjob(place, kronjob_spec, defaults)
    return Conversion(
        place,
        cronjob,
        _kronjob(metadata, kronjob_spec, options.namespace),
        schedule,
        spread_schedule,
        (*timing.notes, *policy_notes, *limit_notes, *_other_notes(spec, metadata)),
        tuple(findings(timing.text, schedule, spec.get("startingDeadlineSeconds"), options.now)),
    )


def _kronjob(metadata: Body, spec: Body, namespace: str) -> Body:
    """Return the KronJob: name, labels and annotations are kept, except those of kubectl and of a switch."""
    annotations = {
        name: value
        for name, value in _mapping(metadata, "annotations").items()
        if not name.startswith(_OWN_ANNOTATIONS)
    }
    labels = metadata.get("labels")
    kept = {"name": metadata["name"], "namespace": metadata.get("namespace") or namespace}
    kept |= {"labels": labels, "annotations": annotations}
    present = {name: value for name, value in kept.items() if value}
    return {"apiVersion": KRONJOB.api_version, "kind": KRONJOB.name, "metadata": present, "spec": spec}


def _policy(spec: Body, options: ImportOptions) -> tuple[Body, list[str]]:
    """Return the policy. A CronJob starts only the newest of several missed times, so the catch-up is `latest`."""
    name, seconds = str(spec.get("concurrencyPolicy") or "Allow"), spec.get("startingDeadlineSeconds")
    if name not in _CONCURRENCY:
        raise _bad_field("concurrencyPolicy", f"{name!r} is unknown", f"use one of {', '.join(_CONCURRENCY)}")
    concurrency, notes = _CONCURRENCY[name], list[str]()
    if name == "Forbid" and options.strict_forbid:
        concurrency = "forbid"
        notes.append("concurrencyPolicy Forbid starts a time that it missed when the active Job ends. forbid skips it.")
    deadline = DEFAULT_DEADLINE
    if seconds is None:
        notes.append(
            f"startingDeadlineSeconds is not set: a CronJob starts a missed time however late."
            f" The deadline of the KronJob is {DEFAULT_DEADLINE}."
        )
    elif isinstance(seconds, int) and not isinstance(seconds, bool) and seconds >= 0:
        deadline = write_duration(seconds * 1_000_000_000)
    else:
        raise _bad_field("startingDeadlineSeconds", f"{seconds!r} is not a number of seconds", "use 0 or more")
    policy = {"concurrency": concurrency, "deadline": deadline, "catchup": "latest"}
    return policy | ({"suspend": True} if spec.get("suspend") else {}), notes


def _with_window(spec: Body, schedule: Schedule, spread_schedule: Schedule) -> Body:
    """Return the spec with the window of a schedule, and with its cron fields if the window begins at another time."""
    cron, window = spread_schedule.cron, spread_schedule.window
    if not window.duration or not isinstance(cron, Cron):
        return spec
    text = spec["schedule"] if cron == schedule.cron else write_cron(cron)
    fields = {"mode": str(window.mode), "duration": write_duration(window.duration)}
    rest = {name: value for name, value in spec.items() if name not in ("schedule", "timezone")}
    zone = {"timezone": spec["timezone"]} if "timezone" in spec else {}
    return {"schedule": text, **zone, "window": fields, **rest}


def _other_notes(spec: Body, metadata: Body) -> Iterator[str]:
    for name in spec:
        if name not in _READ:
            yield f"Field {name} is not known, and left out."
    owners = metadata.get("ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        subject = f"{owner.get('kind')} {owner.get('name')}" if isinstance(owner, dict) else "Another object"
        yield f"{subject} owns the CronJob and can create it again. Change it there."
    release = _mapping(metadata, "annotations").get(_HELM_RELEASE)
    if release:
        yield f"The CronJob belongs to the Helm release {release}. Put the KronJob into its chart."


def _is_above_maximum(value: object) -> bool:
    return isinstance(value, int) and value > MAX_HISTORY


def _limit_note(name: str, value: int) -> str:
    return f"{name} is {value}, and a KronJob keeps at most {MAX_HISTORY}."


def _mapping(body: Body, name: str) -> dict[str, Any]:
    value = body.get(name)
    if value is not None and not isinstance(value, dict):
        raise _bad_field(name, "the value is not a mapping", "use a mapping of names to values")
    return value or {}


def _bad_field(field: str, reason: str, hint: str) -> InvalidInput:
    return InvalidInput("BAD_FIELD", f"field {field} is invalid: {reason}", hint=hint)
