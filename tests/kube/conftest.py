"""A simulated API server for each test, a real cluster for those that ask for it, and clients of both."""

import subprocess
import sys
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest
import yaml
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster, User

from kron.kube.config import connect
from kron.kube.kind import KRONJOB
from tests.kube.cluster.audit_log import recorded_calls
from tests.kube.cluster.control_plane import running
from tests.kube.cluster.release import chosen_release
from tests.kube.server import FakeServer

KRON = Path(sys.executable).with_name("kron")
NUMBERS = count(1)
CALLS = pytest.StashKey()  # the requests of service accounts, for those who run pytest


@asynccontextmanager
async def connected(url, *, watches=0):
    api = connect(KubeConfig.from_one(cluster=Cluster(server=url), user=User(token="t")).get(), watches=watches)
    try:
        yield api
    finally:
        await api.close()


@asynccontextmanager
async def reached(cluster):
    """A client of a real cluster, from its kubeconfig."""
    api = connect(KubeConfig.from_file(cluster.kubeconfig).get())
    try:
        yield api
    finally:
        await api.close()


@pytest.fixture
def server():
    server = FakeServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def cluster(pytestconfig):
    """A real Kubernetes control plane with the definition of KronJobs, one for each process of pytest that asks."""
    release = chosen_release()
    missing = release.missing()
    if missing:
        pytest.skip(f"Kubernetes {release.version} has no {', '.join(missing)} in {release.programs}: run `make kube`")
    with running(release) as cluster:
        apply_definition(cluster)
        yield cluster
        pytestconfig.stash[CALLS] = recorded_calls(cluster.folder)


@pytest.fixture
def namespace(cluster):
    """A namespace of its own."""
    name = f"test-{next(NUMBERS)}"
    cluster.do("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    cluster.request("DELETE", f"/api/v1/namespaces/{name}")


def definition():
    """The definition of KronJobs as the command prints it."""
    done = subprocess.run([KRON, "operator", "crd"], capture_output=True, text=True, timeout=60, check=True)
    return yaml.safe_load(done.stdout)


def apply_definition(cluster):
    """Create the definition of KronJobs, and wait until the API server serves them."""
    body = definition()
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    cluster.do("POST", path, body)

    def is_served():
        found = cluster.do("GET", f"{path}/{body['metadata']['name']}").get("status") or {}
        conditions = {each["type"]: each["status"] for each in found.get("conditions") or ()}
        return conditions.get("Established") == "True" and cluster.request("GET", KRONJOB.path()).is_success

    cluster.processes.until(is_served, 60, "KronJobs are served")
