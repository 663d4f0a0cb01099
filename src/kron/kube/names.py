"""Names of Kubernetes Jobs, their labels and annotations: the Job of a run, and the run of a Job.

The name of a Job is derived from the run's key. The API server accepts a name once, so a run has at most one Job.
"""

from __future__ import annotations

from typing import NamedTuple

from kron.kube.kind import GROUP, JOB, KRONJOB, Body, Place
from kron.rules.run import Run
from kron.timing.zone import rfc3339

MAX_NAME_LENGTH = 52  # of a KronJob: a Job's name has 11 characters more, and a label value at most 63
KEY_DIGITS = 10  # of the run's key in the Job's name; an annotation has the whole key
KRONJOB_LABEL, PERIOD_LABEL = f"{GROUP}/kronjob", f"{GROUP}/period"
KEY, PERIOD_ID, CHOSEN = f"{GROUP}/key", f"{GROUP}/period-id", f"{GROUP}/chosen"
SEED_HASH, REVISION, GENERATION = f"{GROUP}/seed-hash", f"{GROUP}/revision", f"{GROUP}/generation"
TRIGGER = f"{GROUP}/trigger"
PAUSE, RUN = f"{GROUP}/pause", f"{GROUP}/run"  # annotations by which people pause a KronJob and request runs
SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"  # the annotation that tools for CronJobs read


class Owner(NamedTuple):
    """KronJob that owns Jobs."""

    place: Place
    uid: str
    generation: int
    template: Body  # `spec.jobTemplate`


class Mark(NamedTuple):
    """What identifies the run of a Job. Jobs with equal marks are the Job of one run."""

    owner_uid: str
    key: str
    period_id: str


def job_name(kronjob: str, key: str) -> str:
    """Return the name of the Job of a run."""
    return f"{kronjob[:MAX_NAME_LENGTH]}-{key[:KEY_DIGITS]}"


def job_place(owner: Owner, run: Run) -> Place:
    """Return the place of the Job of a run: the namespace of its KronJob."""
    return Place(owner.place.namespace, job_name(owner.place.name, run.key))


def job_of(owner: Owner, run: Run, seed_hash: str = "") -> Body:
    """Return the Job of a run. Its spec is that of the template, unchanged.

    Labels and annotations of the template are kept, except those whose names Kron uses.
    """
    template_metadata = owner.template.get("metadata") or {}
    place, period_id = job_place(owner, run), rfc3339(run.nominal)
    annotations = {
        KEY: run.key,
        PERIOD_ID: period_id,
        CHOSEN: rfc3339(run.due // 1000),
        REVISION: str(run.revision),
        GENERATION: str(owner.generation),
        SCHEDULED: period_id,
        **({SEED_HASH: seed_hash} if seed_hash else {}),
        **({TRIGGER: run.trigger} if run.trigger else {}),
    }
    labels = {KRONJOB_LABEL: owner.place.name, PERIOD_LABEL: period_label(run.nominal)}
    metadata = {
        "name": place.name,
        "namespace": place.namespace,
        "labels": {**(template_metadata.get("labels") or {}), **labels},
        "annotations": {**(template_metadata.get("annotations") or {}), **annotations},
        "ownerReferences": [_reference(owner)],
    }
    return {"apiVersion": JOB.api_version, "kind": JOB.name, "metadata": metadata, "spec": owner.template["spec"]}


def period_label(nominal: int) -> str:
    """Return a period as a label value, such as `20260301T000000Z`: a label value has no colon."""
    return rfc3339(nominal).replace("-", "").replace(":", "")


def mark_of(job: Body) -> Mark:
    """Return the mark of a Job. A Job that Kron did not create has an empty key."""
    metadata = job.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    return Mark(owner_uid(job), str(annotations.get(KEY) or ""), str(annotations.get(PERIOD_ID) or ""))


def owner_uid(job: Body) -> str:
    """Return the unique identifier of the KronJob that controls a Job; empty if none does."""
    for reference in (job.get("metadata") or {}).get("ownerReferences") or ():
        is_kronjob = reference.get("kind") == KRONJOB.name and reference.get("apiVersion", "").startswith(f"{GROUP}/")
        if reference.get("controller") and is_kronjob:
            return str(reference.get("uid") or "")
    return ""


def _reference(owner: Owner) -> Body:
    return {
        "apiVersion": KRONJOB.api_version,
        "kind": KRONJOB.name,
        "name": owner.place.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
