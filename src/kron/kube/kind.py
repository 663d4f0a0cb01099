"""Kinds of Kubernetes objects, and the paths at which the API server has them."""

from __future__ import annotations

from typing import Any, NamedTuple

from kron.timing.zone import instant_of

Body = dict[str, Any]  # a Kubernetes object as the API server sends it; fields that Kron does not know stay in it


class Kind(NamedTuple):
    """Kind of namespaced object: the API group with its version, the kind, and the plural name that paths have."""

    api_version: str
    name: str
    plural: str

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of a collection or of an object. An empty namespace means all namespaces."""
        parts = ["/apis", self.api_version, *(("namespaces", namespace) if namespace else ()), self.plural]
        return "/".join(filter(None, [*parts, name, subresource]))


class Place(NamedTuple):
    """Namespace and name of an object."""

    namespace: str
    name: str


GROUP = "kron.io"
JOB = Kind("batch/v1", "Job", "jobs")
CRONJOB = Kind("batch/v1", "CronJob", "cronjobs")
OLD_CRONJOB = CRONJOB._replace(api_version="batch/v1beta1")  # of servers before 1.21
KRONJOB = Kind(f"{GROUP}/v1alpha1", "KronJob", "kronjobs")
EVENT = Kind("events.k8s.io/v1", "Event", "events")


def place_of(body: Body) -> Place:
    """Return the place of an object."""
    metadata = body["metadata"]
    return Place(metadata.get("namespace", ""), metadata["name"])


def seconds_of(text: object) -> int | None:
    """Return the seconds of a time in an object; None if there is none, or if it is not a time."""
    try:
        return instant_of(str(text)) if text else None
    except ValueError:
        return None
