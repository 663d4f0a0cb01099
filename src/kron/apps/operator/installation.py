"""Installation: what the manifests of the operator depend on."""

from __future__ import annotations

from typing import NamedTuple

from kron._version import __version__

NAME = "kron-operator"
IMAGE = f"{NAME}:{__version__}"
SQLITE, POSTGRES = "sqlite", "postgres"
STORES = (SQLITE, POSTGRES)
DEFAULT_DEADLINE = "5m"  # a restart of the operator takes seconds, and no run is to be missed by it


class Installation(NamedTuple):
    """What the manifests depend on.

    Attributes:
        namespaces: Namespaces whose KronJobs the operator looks after; empty for all.
        store: `sqlite` for one replica with a volume, `postgres` for several.
        namespace: Namespace of the operator.
        image: Image of the operator.
        identity_prefix: Beginning of all identities.
        default_deadline: Deadline of KronJobs that name none.
    """

    namespaces: tuple[str, ...] = ()
    store: str = SQLITE
    namespace: str = NAME
    image: str = IMAGE
    identity_prefix: str = ""
    default_deadline: str = DEFAULT_DEADLINE
