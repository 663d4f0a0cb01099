"""Connection to a cluster: the pod's service account or a kubeconfig, as kubectl finds them."""

from __future__ import annotations

from httpx2 import Timeout
from lightkube.config.client_adapter import AsyncClient, ConnectionParams
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.core.exceptions import ConfigError

from kron.errors import InvalidSetting
from kron.kube.api import Api

TIMEOUT_SECONDS = 10.0  # of a request that is not a watch


def configuration() -> SingleConfig:
    """Return the configuration of this process.

    Raises:
        InvalidSetting: There is no cluster, or the configuration cannot be used.
    """
    try:
        config = KubeConfig.from_env().get()
    except (ConfigError, OSError) as error:
        raise _no_cluster(str(error)) from error
    if config is None:
        raise _no_cluster("the kubeconfig has no current context")
    return config


def connect(config: SingleConfig) -> Api:
    """Return a client of a cluster. It opens its first connection with its first request."""
    return Api(AsyncClient(config, ConnectionParams(timeout=Timeout(TIMEOUT_SECONDS))))


def _no_cluster(cause: str) -> InvalidSetting:
    message = f"no Kubernetes cluster configured: {cause}"
    return InvalidSetting("NO_CLUSTER", message, hint="set KUBECONFIG, or run inside a cluster")
