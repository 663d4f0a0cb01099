"""What a cluster has before a measurement begins, written to the database of its API server.

Requests for tens of thousands of objects would take longer than all measurements. The API server reads objects as JSON,
and tells watches of them as of any other change.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from uuid import uuid4

from benchmarks.kube.cluster import BenchmarkCluster
from kron.kube.kind import KRONJOB, Body, Kind
from kron.timing.zone import rfc3339


def write(cluster: BenchmarkCluster, kind: Kind, namespace: str, bodies: Sequence[Body]) -> None:
    """Create or replace objects. Each has a version of its own, as in any cluster: a watch resumes after a version."""
    folder = f"kron.io/{kind.plural}" if kind == KRONJOB else kind.plural
    cluster.put_in_database(
        (f"/registry/{folder}/{namespace}/{body['metadata']['name']}", json.dumps(body).encode()) for body in bodies
    )


def created(kind: Kind, namespace: str, body: Body) -> Body:
    """Return an object with what the API server gives to a new one."""
    now = rfc3339(int(time.time()))
    given = {"namespace": namespace, "uid": str(uuid4()), "generation": 1, "creationTimestamp": now}
    metadata = {**body["metadata"], **given, "managedFields": [_author(kind, now)]}
    return checked({"apiVersion": kind.api_version, "kind": kind.name, **body, "metadata": metadata}, kind)


def edited(kind: Kind, body: Body, spec: Body) -> Body:
    """Return an object that a user has changed."""
    metadata = {name: value for name, value in body["metadata"].items() if name != "resourceVersion"}
    authors = [each for each in metadata["managedFields"] if each.get("subresource")]
    metadata |= {
        "generation": metadata["generation"] + 1,
        "managedFields": [*authors, _author(kind, rfc3339(int(time.time())))],
    }
    return checked({**body, "metadata": metadata, "spec": {**body["spec"], **spec}}, kind)


def checked(body: Body, kind: Kind) -> Body:
    """Return a KronJob whose template the operator has checked; any other object as it is."""
    if kind != KRONJOB:
        return body
    metadata, status = body["metadata"], body.get("status") or {}
    others = [each for each in status.get("conditions") or () if each["type"] != "TemplateValid"]
    condition = {
        "type": "TemplateValid",
        "status": "True",
        "reason": "Accepted",
        "observedGeneration": metadata["generation"],
        "lastTransitionTime": metadata["creationTimestamp"],
    }
    return {**body, "status": {**status, "conditions": [*others, condition]}}


def _author(kind: Kind, now: str) -> Body:
    fields = {"manager": "benchmark", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}
    return {**fields, "apiVersion": kind.api_version, "time": now}
