"""Rights of the operator on a real cluster: its service account, and the roles of `kron operator manifests`."""

from kron.apps.operator.installation import NAME, Installation
from kron.apps.operator.manifests import operator_access

PATHS = {
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}
HOURS = 24  # for which a token is valid


def kubeconfig_of_operator(cluster, namespace, *, everywhere=False):
    """Install an operator's rights in a namespace, or everywhere. Returns the kubeconfig of its service account."""
    create_once(cluster, {"kind": "ServiceAccount", "metadata": {"name": NAME}}, namespace)
    for body in operator_access(Installation(() if everywhere else (namespace,), namespace=namespace)):
        create_once(cluster, body, namespace)
    file = cluster.folder / f"{namespace}.kubeconfig"
    cluster.write_kubeconfig(file, token_of(cluster, namespace, NAME))
    return file


def remove_cluster_rights(cluster):
    """Remove what an operator of all namespaces was given."""
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        cluster.request("DELETE", f"{PATHS[kind]}/{NAME}")


def token_of(cluster, namespace, account):
    """A token of a service account."""
    path = f"{PATHS['ServiceAccount'].format(namespace=namespace)}/{account}/token"
    return cluster.do("POST", path, {"spec": {"expirationSeconds": HOURS * 3600}})["status"]["token"]


def create_once(cluster, body, namespace):
    """Create an object that may exist."""
    answer = cluster.request("POST", PATHS[body["kind"]].format(namespace=namespace), body)
    assert answer.is_success or answer.status_code == 409, answer.text


def user_of(namespace, account=NAME):
    """The user as which the API server knows a service account."""
    return f"system:serviceaccount:{namespace}:{account}"
