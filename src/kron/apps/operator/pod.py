"""Pod of the operator: one container without privileges, on a read-only root file system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kron.apps.operator.installation import NAME
from kron.kube.kind import Body

USER_ID = 65532
PORT, PORT_NAME = 8080, "http"
STATE_FOLDER, STATE_VOLUME = "/var/lib/kron", "state"
STORE_VARIABLE = "KRON_STORE"


def pod_template(name: str, image: str, arguments: Sequence[str], *, secret: str = "") -> Body:
    """Return the pod template of a workload.

    Args:
        name: Name of the service account, and of the container.
        image: Image of the container.
        arguments: Arguments after `kron operator run`.
        secret: Secret whose key `url` is the store URL; empty for a store in the state volume.
    """
    spec = {
        "serviceAccountName": name,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "fsGroup": USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(name, image, arguments, secret)],
        "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}],
    }
    return {"metadata": {"labels": labels_of(name)}, "spec": spec}


def _container(name: str, image: str, arguments: Sequence[str], secret: str) -> Body:
    source = {"secretKeyRef": {"name": secret, "key": "url"}}
    mounts = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108, a path in the container
    mounts += [] if secret else [{"name": STATE_VOLUME, "mountPath": STATE_FOLDER}]
    return {
        "name": name,
        "image": image,
        "args": ["operator", "run", *arguments],
        **({"env": [{"name": STORE_VARIABLE, "valueFrom": source}]} if secret else {}),
        "ports": [{"name": PORT_NAME, "containerPort": PORT}],
        "livenessProbe": _probe("/livez", periodSeconds=10, failureThreshold=6),
        "readinessProbe": _probe("/readyz", periodSeconds=5),
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }


def labels_of(name: str) -> dict[str, str]:
    """Return the labels that select the pods of the operator."""
    return {"app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": name}


def _probe(path: str, **fields: Any) -> Body:
    return {"httpGet": {"path": path, "port": PORT_NAME}, **fields}
