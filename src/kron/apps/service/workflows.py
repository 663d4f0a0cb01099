"""Deploying a workflow: its DAG is kept, and each of its schedule-based triggers becomes a schedule."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import Field, ValidationError

from kron.apps.service import answers
from kron.apps.service.caller import Writer
from kron.apps.service.document import upsert
from kron.apps.service.models import Strict, Text, Upsert
from kron.apps.service.parts import Parts, Used
from kron.apps.service.problem import may
from kron.errors import KronError

router = APIRouter(prefix="/v1", tags=["workflows"])

TRIGGER = "schedule_based"
MOST = 100
_OURS = ("cron_expr", "timezone", "start_at", "end_at", "jitter_ms", "overlap_policy", "catchup_policy", "completion")


class Deployment(Strict):
    """A version of a workflow."""

    user_id: Text
    dag: Annotated[dict[str, Any], Field(description="triggers of the type schedule_based become schedules")]


@router.put("/workflows/{workflow_id}/{version}", responses=may(429, 501))
async def deploy(
    workflow_id: Annotated[str, Path(max_length=100)],
    version: Annotated[int, Path(ge=0, le=2**31 - 1)],
    asked: Deployment,
    caller: Writer,
    parts: Parts = Used,
) -> answers.Deployed:
    """Keep the DAG, and upsert a schedule for each of its schedule-based triggers: `workflow.trigger`."""
    if parts.workflows is None:
        raise KronError("MISSING_PART", "this service has no workflow store", hint="set WORKFLOWS")
    found = schedules_of(workflow_id, version, asked)
    await parts.workflows.save_dag(caller.prefix + workflow_id, version, asked.dag)
    return answers.Deployed(schedules=[await upsert(each, caller, parts) for each in found])


def schedules_of(workflow_id: str, version: int, asked: Deployment) -> list[Upsert]:
    """The schedules that a DAG asks for. All of it is read before any of it is done."""
    triggers = asked.dag.get("triggers", [])
    if not isinstance(triggers, list) or len(triggers) > MOST:
        raise KronError("BAD_FIELD", f"triggers are a list of at most {MOST}", hint="see docs/service.md")
    wanted = [each for each in triggers if isinstance(each, dict) and each.get("type") == TRIGGER]
    try:
        return [
            Upsert(
                schedule_id=f"{workflow_id}.{each.get('id', number)}",
                workflow_id=workflow_id,
                version=version,
                user_id=asked.user_id,
                **{name: each[name] for name in _OURS if name in each},
            )
            for number, each in enumerate(wanted)
        ]
    except ValidationError as error:
        place = error.errors()[0]
        raise KronError(
            "BAD_FIELD", f"a trigger: {'/'.join(map(str, place['loc']))}: {place['msg']}", hint=""
        ) from None
