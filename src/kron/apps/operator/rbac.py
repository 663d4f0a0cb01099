"""Rights: what the operator may do in a cluster, and who else may work with KronJobs. The only list of them."""

from __future__ import annotations

from typing import Any

from kron.kube.kind import EVENT, GROUP, JOB, KRONJOB

Rule = dict[str, Any]
API_GROUP = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")


def operator_rules() -> list[Rule]:
    """Return all rights of the operator. It reads no pods, secrets, CronJobs and namespaces, and needs no leases.

    The operator sends no request for the finalizers. The admission plugin OwnerReferencesPermissionEnforcement, which
    some distributions switch on, asks for that right when the owner of a new Job is one whose deletion the Job blocks.
    """
    return [
        _rule(GROUP, [KRONJOB.plural], ("list", "watch")),
        _rule(GROUP, [f"{KRONJOB.plural}/status"], ("patch",)),
        _rule(GROUP, [f"{KRONJOB.plural}/finalizers"], ("update",)),
        _rule(_group(JOB.api_version), [JOB.plural], (*_READ, "create", "delete")),
        _rule(_group(EVENT.api_version), [EVENT.plural], ("create",)),
    ]


def operator_role(name: str, namespace: str = "") -> Rule:
    """Return the role of the operator: for all namespaces, or for one."""
    kind = "Role" if namespace else "ClusterRole"
    return _object(kind, name, namespace, rules=operator_rules())


def operator_binding(name: str, account_namespace: str, namespace: str = "") -> Rule:
    """Return what gives that role to the service account of the same name."""
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    role = {"apiGroup": API_GROUP, "kind": kind.removesuffix("Binding"), "name": name}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": account_namespace}
    return _object(kind, name, namespace, roleRef=role, subjects=[subject])


def user_roles(name: str) -> list[Rule]:
    """Return roles that add KronJobs to the roles `view`, `edit` and `admin` of the cluster.

    Users who may write KronJobs may start any Job in their namespaces, as `edit` and `admin` already do.
    """
    view = [_rule(GROUP, [KRONJOB.plural, f"{KRONJOB.plural}/status"], _READ)]
    edit = [_rule(GROUP, [KRONJOB.plural], _WRITE)]
    return [
        _object("ClusterRole", f"{name}-view", labels=_aggregate("view", "edit", "admin"), rules=view),
        _object("ClusterRole", f"{name}-edit", labels=_aggregate("edit", "admin"), rules=edit),
    ]


def _object(kind: str, name: str, namespace: str = "", labels: dict[str, str] | None = None, **fields: Any) -> Rule:
    metadata: dict[str, Any] = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata |= {"labels": labels} if labels else {}
    return {"apiVersion": f"{API_GROUP}/v1", "kind": kind, "metadata": metadata, **fields}


def _rule(group: str, resources: list[str], verbs: tuple[str, ...]) -> Rule:
    return {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}


def _group(api_version: str) -> str:
    return api_version.partition("/")[0]


def _aggregate(*roles: str) -> dict[str, str]:
    return {f"{API_GROUP}/aggregate-to-{role}": "true" for role in roles}
