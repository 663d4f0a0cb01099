"""Session: the requests of a command to the cluster of its user. Errors become those of Kron."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from kron.errors import AccessDenied, InvalidInput, InvalidSetting, KronError, NotFound, Unavailable
from kron.kube.failure import NOT_FOUND

if TYPE_CHECKING:
    from kron.kube.api import Api
    from kron.kube.failure import Refusal

T = TypeVar("T")
_UNAUTHORIZED, _FORBIDDEN = 401, 403


def ask(use: Callable[[Api, str], Awaitable[T]], context: str = "") -> T:
    """Return what `use` returns. It is given a client and the namespace of the kubeconfig.

    Args:
        use: Sends requests.
        context: Context of the kubeconfig; empty for its current context.

    Raises:
        InvalidSetting: There is no cluster, or lightkube is not installed.
        KronError: The cluster refuses a request, or does not answer.
    """
    try:
        from kron.kube.config import configuration, connect
        from kron.kube.failure import NoAnswer, Refusal
    except ImportError as error:
        message = f"requests to a cluster need lightkube: {error}"
        raise InvalidSetting("MISSING_PACKAGE", message, hint="run pip install 'kron-py[kubernetes]'") from None

    async def main() -> T:
        config = configuration(context)
        api = connect(config)
        try:
            return await use(api, config.namespace)
        except Refusal as refusal:
            raise _error_of(refusal) from None
        except NoAnswer as failure:
            message = f"the cluster does not answer: {failure}"
            raise Unavailable("UNREACHABLE", message, hint="check the kubeconfig and the network") from None
        finally:
            await api.close()

    return asyncio.run(main())


def _error_of(refusal: Refusal) -> KronError:
    message = f"the cluster refuses the request: {refusal.message or refusal.reason or refusal.status}"
    if refusal.status in (_UNAUTHORIZED, _FORBIDDEN):
        return AccessDenied("FORBIDDEN", message, hint="ask for the right that the message names")
    if refusal.status == NOT_FOUND:
        return NotFound("NOT_FOUND", message, hint="check that the cluster has this kind of object")
    return InvalidInput("BAD_REQUEST", message, hint="correct the object as the message says")
