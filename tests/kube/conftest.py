"""An API server for each test, and a client that reaches it as in a cluster."""

from contextlib import asynccontextmanager

import pytest
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster, User

from kron.kube.config import connect
from tests.kube.server import FakeServer


@asynccontextmanager
async def connected(url):
    api = connect(KubeConfig.from_one(cluster=Cluster(server=url), user=User(token="t")).get())
    try:
        yield api
    finally:
        await api.close()


@pytest.fixture
def server():
    server = FakeServer()
    yield server
    server.close()
