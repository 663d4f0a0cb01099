"""Manifests: all objects that a cluster needs for KronJobs. The files of `deploy/operator` are generated from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kron.apps.operator.crd import resource_definition
from kron.apps.operator.installation import NAME, POSTGRES, Installation
from kron.apps.operator.pod import (
    PORT,
    PORT_NAME,
    STATE_FOLDER,
    STATE_VOLUME,
    STORE_VARIABLE,
    labels_of,
    pod_template,
)
from kron.apps.operator.rbac import operator_binding, operator_role, user_roles
from kron.kube.kind import Body

SECRET = f"{NAME}-store"  # its key `url` is the URL of the PostgreSQL store
REPLICAS = 2  # with PostgreSQL
STATE_SIZE = "1Gi"
_API_SERVER_PORTS, _POSTGRES_PORT, _DNS_PORT = (443, 6443), 5432, 53


def manifests(installation: Installation) -> list[Body]:
    """Return all objects, in the order in which they can be created."""
    return [
        resource_definition(),
        operator_namespace(installation.namespace),
        *access(installation),
        *network(installation),
        workload(installation),
    ]


def operator_namespace(name: str) -> Body:
    """Return the namespace of the operator. It admits only pods without privileges."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def access(installation: Installation) -> list[Body]:
    """Return the service account, the roles and their bindings."""
    account = _object("v1", "ServiceAccount", installation)
    return [account, *user_roles(NAME), *operator_access(installation)]


def operator_access(installation: Installation) -> Iterator[Body]:
    """Yield the role and the binding of the operator, for all namespaces or for each of its namespaces."""
    for namespace in installation.namespaces or ("",):
        yield operator_role(NAME, namespace)
        yield operator_binding(NAME, installation.namespace, namespace)


def network(installation: Installation) -> Iterator[Body]:
    """Yield the service of the metrics, and what the pods may connect to."""
    port = {"name": PORT_NAME, "port": PORT, "targetPort": PORT_NAME}
    service = {"clusterIP": "None", "selector": labels_of(NAME), "ports": [port]}
    yield _object("v1", "Service", installation, spec=service)
    rules = {
        "podSelector": {"matchLabels": labels_of(NAME)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"ports": [_port(PORT)]}],
        "egress": [{"ports": [*map(_port, _API_SERVER_PORTS), _port(_DNS_PORT), _port(_DNS_PORT, "UDP")]}],
    }
    yield _object("networking.k8s.io/v1", "NetworkPolicy", installation, spec=rules)
    if installation.store == POSTGRES:
        yield store_policy(installation)


def store_policy(installation: Installation) -> Body:
    """Return what lets the pods connect to PostgreSQL. Network policies add up."""
    rules = {
        "podSelector": {"matchLabels": labels_of(NAME)},
        "policyTypes": ["Egress"],
        "egress": [{"ports": [_port(_POSTGRES_PORT)]}],
    }
    return _object("networking.k8s.io/v1", "NetworkPolicy", installation, name=SECRET, spec=rules)


def workload(installation: Installation) -> Body:
    """Return the StatefulSet with its volume, or the Deployment with PostgreSQL.

    A StatefulSet never runs two pods of one name, so a SQLite store has one operator.
    """
    is_shared = installation.store == POSTGRES
    secret = SECRET if is_shared else ""
    template = pod_template(NAME, installation.image, run_arguments(installation), secret=secret)
    spec: dict[str, Any] = {
        "replicas": REPLICAS if is_shared else 1,
        "selector": {"matchLabels": labels_of(NAME)},
        "template": template,
    }
    if is_shared:
        return _object("apps/v1", "Deployment", installation, spec=spec)
    size = {"requests": {"storage": STATE_SIZE}}
    claim = {"metadata": {"name": STATE_VOLUME}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": size}}
    spec |= {"serviceName": NAME, "volumeClaimTemplates": [claim]}
    return _object("apps/v1", "StatefulSet", installation, spec=spec)


def run_arguments(installation: Installation) -> list[str]:
    """Return the arguments of `kron operator run`."""
    store = f"$({STORE_VARIABLE})" if installation.store == POSTGRES else f"sqlite:{STATE_FOLDER}/operator.db"
    arguments = [f"--store={store}", f"--listen=0.0.0.0:{PORT}"]
    arguments += [f"--default-deadline={installation.default_deadline}"]
    arguments += [f"--identity-prefix={installation.identity_prefix}"] if installation.identity_prefix else []
    return arguments + ([f"--namespaces={','.join(installation.namespaces)}"] if installation.namespaces else [])


def _object(version: str, kind: str, installation: Installation, *, name: str = NAME, **fields: Any) -> Body:
    metadata = {"name": name, "namespace": installation.namespace, "labels": labels_of(NAME)}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def _port(number: int, protocol: str = "TCP") -> Body:
    return {"protocol": protocol, "port": number}
