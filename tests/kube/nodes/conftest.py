"""A real node, and on it KronJobs that all tests of this folder look at."""

import os
import shutil

import pytest

from tests.kube.cluster.containers import missing_packages
from tests.kube.cluster.node import running_node
from tests.kube.cluster.release import NODE
from tests.kube.nodes.kronjobs import ANNOTATIONS, now, specs
from tests.kube.nodes.shop import Shop

NAMESPACE = "shop"


@pytest.fixture(scope="package")
def node(cluster):
    """A node of the cluster."""
    missing = cluster.release.missing(NODE)
    if missing:
        pytest.skip(f"Kubernetes {cluster.release.version} has no {', '.join(missing)}: run `make kube NODE=1`")
    if os.geteuid() or missing_packages() or not shutil.which("kubectl"):
        pytest.skip("a node needs root, kubectl, containerd, runc and busybox-static")
    with running_node(cluster) as node:
        yield node


@pytest.fixture(scope="package")
def shop(cluster, node, tmp_path_factory):
    """A namespace with an operator and the KronJobs, which all start at once."""
    cluster.do("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    shop = Shop(cluster, NAMESPACE, tmp_path_factory.mktemp(NAMESPACE))
    for name, spec in specs(now()).items():
        shop.create(name, spec, ANNOTATIONS.get(name))
    with shop.operator:
        yield shop
    cluster.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}")
