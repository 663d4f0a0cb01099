"""Connection to a cluster: the pod's service account or a kubeconfig, as kubectl finds them."""

from __future__ import annotations

from collections.abc import Sequence

from httpx2 import URL, AsyncClient, Limits, Timeout
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.core.exceptions import ConfigError

from kron._version import __version__
from kron.errors import InvalidSetting, did_you_mean
from kron.kube.api import Api
from kron.kube.transport import DirectTransport, is_proxied

TIMEOUT_SECONDS = 10.0  # of a request that is not a watch
MAX_REQUESTS = 100  # concurrent ones through a proxy; each watch needs a connection more


def configuration(context: str = "") -> SingleConfig:
    """Return the configuration of this process.

    Args:
        context: Context of the kubeconfig; empty for its current context.

    Raises:
        InvalidSetting: There is no cluster, or the configuration cannot be used.
    """
    try:
        kubeconfig = KubeConfig.from_env()
        if context and context not in kubeconfig.contexts:
            raise _no_context(context, [*kubeconfig.contexts])
        config = kubeconfig.get(context or None)
    except (ConfigError, OSError) as error:
        raise _no_cluster(str(error)) from error
    if config is None:
        raise _no_cluster("the kubeconfig has no current context")
    return config


def connect(config: SingleConfig, *, watches: int = 0) -> Api:
    """Return a client of a cluster. It opens its first connection with its first request.

    Args:
        config: Address and credentials.
        watches: Number of watches that are open permanently.
    """
    parameters = ConnectionParams(timeout=Timeout(TIMEOUT_SECONDS)).httpx_params(config)
    url = URL(parameters["base_url"])
    if is_proxied(url):
        parameters["limits"] = Limits(max_connections=MAX_REQUESTS + watches, max_keepalive_connections=MAX_REQUESTS)
    else:
        parameters["transport"] = DirectTransport(url, parameters["verify"])
    return Api(AsyncClient(**parameters, headers={"User-Agent": f"kron/{__version__}"}))


def _no_context(name: str, known: Sequence[str]) -> InvalidSetting:
    hint = did_you_mean(name, known, f"its contexts: {', '.join(known[:10]) or 'none'}")
    return InvalidSetting("NO_CLUSTER", f"the kubeconfig has no context {name!r}", hint=hint)


def _no_cluster(cause: str) -> InvalidSetting:
    message = f"no Kubernetes cluster configured: {cause}"
    return InvalidSetting("NO_CLUSTER", message, hint="set KUBECONFIG, or run inside a cluster")
