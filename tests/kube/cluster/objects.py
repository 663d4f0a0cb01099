"""Objects for tests on a real cluster, and what a client of it is told."""

import asyncio

import pytest

from kron.kube.failure import Refusal
from kron.kube.kind import JOB, KRONJOB
from tests.kube.conftest import reached
from tests.operator.specs import spec_of


def kronjob(name, spec=None):
    """A KronJob."""
    return {
        "apiVersion": KRONJOB.api_version,
        "kind": KRONJOB.name,
        "metadata": {"name": name},
        "spec": spec_of({}) if spec is None else spec,
    }


def job(name, template):
    """A Job from a template."""
    return {"apiVersion": JOB.api_version, "kind": JOB.name, "metadata": {"name": name}, **template}


def asked(cluster, use):
    """What a coroutine returns that is given a client of the cluster."""

    async def main():
        async with reached(cluster) as api:
            return await use(api)

    return asyncio.run(main())


def refused(cluster, use):
    """The refusal of what a coroutine asks."""
    with pytest.raises(Refusal) as caught:
        asked(cluster, use)
    return caught.value
