"""A simulated API server, and a world around it."""

import pytest

from tests.kube.conftest import server
from tests.operator.running import World, defaults

__all__ = ["server"]


@pytest.fixture
def world(server, tmp_path):
    """A cluster and a store, with a default deadline of 30 seconds."""
    return World(server, tmp_path, **defaults(30))
