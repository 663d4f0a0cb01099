"""Custom resource definition of KronJob, as the API server needs it. `deploy/operator/crd.yaml` is generated."""

from __future__ import annotations

from kron.apps.operator.schema import Schema, root_schema
from kron.kube.kind import GROUP, KRONJOB


def resource_definition() -> Schema:
    """Return the CustomResourceDefinition."""
    version = {
        "name": KRONJOB.api_version.partition("/")[2],
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": root_schema()},
        "additionalPrinterColumns": _columns(),
    }
    names = {
        "kind": KRONJOB.name,
        "listKind": f"{KRONJOB.name}List",
        "plural": KRONJOB.plural,
        "singular": KRONJOB.name.lower(),
        "shortNames": ["kj"],
        "categories": ["all", "kron"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{KRONJOB.plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _columns() -> list[Schema]:
    """Return the columns of `kubectl get kj`.

    A `date` column shows the age of a time. The next run is in the future and has no age, so it is a string.
    """
    ready = ".status.conditions[?(@.type=='Ready')].status"
    columns = [
        ("Schedule", ".spec.schedule", "string", 0),
        ("TZ", ".spec.timezone", "string", 1),
        ("Suspend", ".spec.policy.suspend", "boolean", 0),
        ("Active", ".status.active", "integer", 0),
        ("Last", ".status.lastChosenTime", "date", 0),
        ("Outcome", ".status.lastOutcome", "string", 0),
        ("Reason", ".status.lastReason", "string", 1),
        ("End", ".status.lastEnd", "string", 0),
        ("Next", ".status.nextRun", "string", 0),
        ("Ready", ready, "string", 1),
        ("Age", ".metadata.creationTimestamp", "date", 0),
    ]
    return [
        {"name": name, "jsonPath": path, "type": kind, "priority": priority} for name, path, kind, priority in columns
    ]
