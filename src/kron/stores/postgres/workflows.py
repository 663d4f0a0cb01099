"""Workflow store in the same database as the schedules, for services that run on several hosts."""

from __future__ import annotations

import json
from typing import Any

from kron.stores.postgres.pool import Pool

Dag = dict[str, Any]


class WorkflowTable:
    """Table of DAGs by workflow and version."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    async def load_dag(self, workflow_id: str, version: int) -> Dag | None:
        """Return the DAG of a version; None if there is none."""
        parameters = {"workflow": workflow_id, "version": version}
        rows = await self.pool.read(lambda session: session.rows("dag", **parameters))
        dag = json.loads(rows[0][0]) if rows else None
        return dag if isinstance(dag, dict) else None

    async def save_dag(self, workflow_id: str, version: int, dag: Dag) -> None:
        """Store the DAG of a version."""
        parameters = {"workflow": workflow_id, "version": version, "dag": json.dumps(dag)}
        await self.pool.write(lambda session: session.execute("save_dag", **parameters))
