"""Workflow deployment: stores the DAG, and defines a schedule for each schedule-based trigger."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import Field, ValidationError

from kron.apps.record_fields import next_run_at
from kron.apps.service.auth.caller import Caller, Writer
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.compute import compute
from kron.apps.service.context import AppContext, Used
from kron.apps.service.problem import error_responses
from kron.apps.service.schemas import responses
from kron.apps.service.schemas.definition import job_of, of_document, target_fields
from kron.apps.service.schemas.requests import Strict, Text, Upsert
from kron.apps.service.together import put_together
from kron.errors import Contended, InvalidInput, InvalidSetting, KronError
from kron.launchers.workflow import WorkflowStore
from kron.timing.job import Job

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["workflows"])

TRIGGER = "schedule_based"
MAX_TRIGGERS = 100
MAX_SCHEDULES_EXAMINED = 1_000  # maximum number of schedules examined per workflow
_TRIGGER_FIELDS = (
    "cron_expr",
    "timezone",
    "start_at",
    "end_at",
    "jitter_ms",
    "overlap_policy",
    "catchup_policy",
    "completion",
)


class Deployment(Strict):
    """A version of a workflow."""

    user_id: Text
    dag: Annotated[dict[str, Any], Field(description="each trigger of type schedule_based becomes a schedule")]


@router.put("/workflows/{workflow_id}/{version}", responses=error_responses(429, 501))
async def deploy(
    workflow_id: Annotated[str, Path(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:~-]*$")],
    version: Annotated[int, Path(ge=0, le=2**31 - 1)],
    body: Deployment,
    caller: Writer,
    parts: AppContext = Used,
) -> responses.Deployed:
    """Store the DAG and define a schedule `workflow.trigger` for each schedule-based trigger: all or none.

    Schedules of triggers that only the previous version had are deleted.
    """
    if parts.workflows is None:
        raise InvalidSetting("MISSING_PART", "this service has no workflow store", hint="set WORKFLOW_STORE")
    upserts = schedules_of(workflow_id, version, body)
    now = await parts.store.now()
    jobs = await compute(_jobs, upserts, caller, parts, now)
    names = [job.identity for job, _ in jobs]
    if len(set(names)) != len(names):
        raise InvalidInput("BAD_FIELD", "two triggers have the same id", hint="use a different id for each trigger")
    async with (
        parts.quotas.room(caller, *names),
        _restored_on_conflict(parts.workflows, caller.prefix + workflow_id, version),
    ):
        dropped_names = await _dropped_names(workflow_id, set(names), caller, parts)
        await parts.workflows.save_dag(caller.prefix + workflow_id, version, body.dag)
        states = await put_together(
            parts.store, [job for job, _ in jobs], dropped_names, caller.actor(f"version {version}")
        )
    views = [
        responses.Upserted(schedule_id=caller.name(state.identity), next_run_at=next_run_at(state), warnings=warnings)
        for state, (_, warnings) in zip(states, jobs, strict=True)
    ]
    return responses.Deployed(schedules=views)


@asynccontextmanager
async def _restored_on_conflict(workflows: WorkflowStore, name: str, version: int) -> AsyncIterator[None]:
    """Restore the version's previous DAG if the schedules were certainly not written.

    After a store failure they could have been written. The DAG of a new version stays: no schedule uses it.
    """
    before = await workflows.load_dag(name, version)
    try:
        yield
    except Contended:
        if before is not None:
            await workflows.save_dag(name, version, before)
        raise


def _jobs(upserts: list[Upsert], caller: Caller, parts: AppContext, now: int) -> list[tuple[Job, list[str]]]:
    definitions = [(caller.identity(str(upsert.schedule_id)), of_document(upsert)) for upsert in upserts]
    return [job_of(definition, identity, parts.config, now // 1000) for identity, definition in definitions]


async def _dropped_names(workflow_id: str, names: set[str], caller: Caller, parts: AppContext) -> list[str]:
    """Return the schedules that an earlier deployment of the workflow created and this one no longer has.

    The schedules of a version are read from its DAG, so that a schedule defined by a user is not deleted.
    """
    prefix, names_by_version, dropped_names = f"{caller.prefix}{workflow_id}.", dict[int, set[str]](), list[str]()
    for name in await parts.store.identities("", MAX_SCHEDULES_EXAMINED, prefix):
        (state,) = await parts.store.get([name])
        fields = target_fields(state.job.target) if state and name not in names else {}
        if fields.get("workflow_id") != workflow_id:
            continue
        version = fields["version"]
        if version not in names_by_version:
            names_by_version[version] = await _names_of_version(workflow_id, version, caller, parts)
        if name in names_by_version[version]:
            dropped_names.append(name)
    return dropped_names


async def _names_of_version(workflow_id: str, version: int, caller: Caller, parts: AppContext) -> set[str]:
    """Return the identities of the schedules that the deployment of a version creates."""
    dag = await parts.workflows.load_dag(caller.prefix + workflow_id, version) if parts.workflows else None
    try:
        upserts = schedules_of(workflow_id, version, Deployment(user_id="-", dag=dag or {}))
        return {caller.identity(str(upsert.schedule_id)) for upsert in upserts}
    except KronError:
        return set()


def schedules_of(workflow_id: str, version: int, deployment: Deployment) -> list[Upsert]:
    """Return the schedules that a DAG requires. The whole DAG is checked before any schedule is defined."""
    triggers = deployment.dag.get("triggers", [])
    if not isinstance(triggers, list) or len(triggers) > MAX_TRIGGERS:
        raise InvalidInput(
            "BAD_FIELD", f"triggers must be a list, at most {MAX_TRIGGERS}", hint="see docs/reference/http-api.md"
        )
    schedule_triggers = [
        trigger for trigger in triggers if isinstance(trigger, dict) and trigger.get("type") == TRIGGER
    ]
    try:
        return [
            Upsert(
                schedule_id=f"{workflow_id}.{trigger.get('id', number)}",
                workflow_id=workflow_id,
                version=version,
                user_id=deployment.user_id,
                **{name: trigger[name] for name in _TRIGGER_FIELDS if name in trigger},
            )
            for number, trigger in enumerate(schedule_triggers)
        ]
    except ValidationError as error:
        place = error.errors()[0]
        raise InvalidInput(
            "BAD_FIELD", f"a trigger: {'/'.join(map(str, place['loc']))}: {place['msg']}", hint=""
        ) from None
