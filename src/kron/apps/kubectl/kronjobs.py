"""KronJobs of the cluster: read, and changed by annotations."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kron.apps.cli.inputs import usage_error
from kron.apps.operator.definition import OperatorDefaults, job_of_kronjob
from kron.errors import NotFound
from kron.kube.kind import KRONJOB, Body, Place, place_of
from kron.kube.session import ask
from kron.timing.job import Job

if TYPE_CHECKING:
    from kron.kube.api import Api


def read_one(args: argparse.Namespace) -> Body:
    """Return the KronJob that the command line names.

    Raises:
        NotFound: It does not exist.
    """
    return ask(lambda api, default: _one(api, Place(args.namespace or default, args.name)), args.context)


def read_all(args: argparse.Namespace) -> list[Body]:
    """Return the KronJobs of a namespace or of all namespaces."""
    if args.all_namespaces and args.namespace:
        raise usage_error("--all-namespaces excludes -n", "remove one of them")
    return ask(
        lambda api, default: _listed(api, "" if args.all_namespaces else args.namespace or default), args.context
    )


def read_some(places: Sequence[Place], context: str) -> tuple[dict[Place, Body], str]:
    """Return those KronJobs of some places that exist, and the namespace of the kubeconfig.

    A place without a namespace is in that of the kubeconfig.
    """

    async def use(api: Api, default: str) -> tuple[dict[Place, Body], str]:
        found = {}
        for place in places:
            body = await api.get(KRONJOB, Place(place.namespace or default, place.name))
            if body is not None:
                found[place] = body
        return found, default

    return ask(use, context)


def annotate(args: argparse.Namespace, annotations: Mapping[str, str | None]) -> Place:
    """Set annotations of the KronJob that the command line names; None removes one. Return its place."""

    async def use(api: Api, default: str) -> Place:
        place = Place(args.namespace or default, args.name)
        await _one(api, place)
        await api.patch(KRONJOB, place, {"metadata": {"annotations": dict(annotations)}})
        return place

    return ask(use, args.context)


def job_of(body: Body, prefix: str) -> Job:
    """Return the definition of a KronJob. Its identity is that of its last decision, which knows the prefix.

    Raises:
        KronError: The spec is invalid.
    """
    place = place_of(body)
    return job_of_kronjob(place, body.get("spec") or {}, OperatorDefaults(_prefix_of(body, place) or prefix))


def status_of(body: Body) -> Body:
    """Return the status of a KronJob; empty if the operator has not written one."""
    status = body.get("status")
    return status if isinstance(status, dict) else {}


def decision_of(body: Body) -> Body:
    """Return the last decision in the status; empty if there is none."""
    try:
        decision = json.loads(status_of(body).get("lastDecision") or "{}")
    except ValueError:
        return {}
    return decision if isinstance(decision, dict) else {}


def _prefix_of(body: Body, place: Place) -> str:
    identity, own = str(decision_of(body).get("identity") or ""), "/".join(place)
    return identity.removesuffix(own) if identity.endswith(own) else ""


async def _one(api: Api, place: Place) -> Body:
    body = await api.get(KRONJOB, place)
    if body is None:
        hint = "use -n NAMESPACE, or kubectl kron get -A for all KronJobs"
        raise NotFound("NOT_FOUND", f"no KronJob {'/'.join(place)}", hint=hint)
    return body


async def _listed(api: Api, namespace: str) -> list[Body]:
    return [body async for page in api.pages(KRONJOB, namespace) for body in page.items]
