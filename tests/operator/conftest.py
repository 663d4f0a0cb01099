"""The simulated API server, as in `tests/kube`."""

from tests.kube.conftest import server

__all__ = ["server"]
