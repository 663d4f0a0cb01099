"""The RunLauncher of the service: loads the DAG of a workflow from its store and hands it to an Executor."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, quote, unquote
from uuid import uuid4

from kron.clock import Clock, SystemClock
from kron.core.answer import Answer, Receipt
from kron.core.run import Run
from kron.core.zone import rfc3339
from kron.launcher import Launch
from kron.launchers.http import meaning, patience, report_of
from kron.launchers.post import HalfSent, NotSent, Poster
from kron.launchers.signature import Secrets, sign
from kron.launchers.target import Url

Dag = dict[str, Any]
SECONDS = 8.0
_LONGEST = 200  # of the name of a folder


class WorkflowStore(Protocol):
    """Where DAGs are kept."""

    async def load_dag(self, workflow_id: str, version: int) -> Dag | None:
        """The DAG of a version; None if there is none."""

    async def save_dag(self, workflow_id: str, version: int, dag: Dag) -> None:
        """Keep the DAG of a version: as a whole, or not at all."""


class Executor(Protocol):
    """What runs DAGs. It gets the DAG itself and a few words about it, and knows a key that it has seen."""

    async def run(self, dag: Dag, meta: Mapping[str, Any]) -> Answer | Receipt | None:
        """Take it; None is as good as ok. A receipt may say what the run is called there."""


class WorkflowFolder:
    """DAGs as files: a folder for each workflow, a file of JSON for each version."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    async def load_dag(self, workflow_id: str, version: int) -> Dag | None:
        """The DAG of a version."""
        return await asyncio.to_thread(self._read, self._path(workflow_id, version))

    async def save_dag(self, workflow_id: str, version: int, dag: Dag) -> None:
        """Keep the DAG of a version: as a whole, or not at all."""
        await asyncio.to_thread(self._write, self._path(workflow_id, version), json.dumps(dag))

    def _path(self, workflow_id: str, version: int) -> Path:
        """No name leads out of the folder: every dot and slash in it is written otherwise."""
        name = quote(workflow_id, safe="").replace(".", "%2E")
        name = name if len(name) <= _LONGEST else "sha256-" + sha256(workflow_id.encode()).hexdigest()
        return self.root / name / f"{int(version)}.json"

    def _read(self, path: Path) -> Dag | None:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return found if isinstance(found, dict) else None

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{uuid4().hex}.draft")  # of this call alone: others may write the same version
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)


class RunLauncher:
    """Starts runs of workflows."""

    def __init__(self, workflows: WorkflowStore, executor: Executor) -> None:
        self.workflows, self.executor = workflows, executor

    async def start(
        self, workflow_id: str, version: int, user_id: str, scheduled_for: str, idempotency_key: str, tenant: str = ""
    ) -> bool:
        """Whether the executor has it; false if there is no such workflow."""
        said = await self.launch(workflow_id, version, user_id, scheduled_for, idempotency_key, tenant)
        return said.answer is Answer.OK

    async def launch(
        self, workflow_id: str, version: int, user_id: str, scheduled_for: str, key: str, tenant: str = ""
    ) -> Receipt:
        """The same, and why not. With tenants, the executor is told whose run it is; users are `tenant/user`."""
        dag = await self.workflows.load_dag(workflow_id, version)
        if dag is None:
            return Receipt(Answer.RETRYABLE)
        meta = {
            "source": "schedule",
            "user_id": f"{tenant}/{user_id}" if tenant else user_id,
            "scheduled_for": scheduled_for,
            "idempotency_key": key,
            **({"tenant": tenant} if tenant else {}),
        }
        said = await self.executor.run(dag, meta) or Answer.OK
        return said if isinstance(said, Receipt) else Receipt(said)


class WorkflowLauncher:
    """Starts `workflow:id?version=3&user=u1` through a RunLauncher."""

    def __init__(self, starter: RunLauncher | None, secrets: Secrets) -> None:
        self.starter, self.secrets = starter, secrets

    async def start(self, launch: Launch) -> Receipt:
        """Start it. Where nobody runs workflows, it cannot be."""
        if self.starter is None:
            return Receipt(Answer.REJECTED)
        name, _, query = launch.job.target.partition(":")[2].partition("?")
        given, tenant = dict(parse_qsl(query)), self.secrets.tenant_of(launch.run.identity)
        workflow = (f"{tenant}/" if tenant else "") + unquote(name)
        planned = rfc3339(launch.run.nominal)
        version, user = int(given["version"]), given["user"]
        return await self.starter.launch(workflow, version, user, planned, launch.run.key, tenant)

    async def cancel(self, run: Run) -> None:
        """An executor is not told."""


class HttpExecutor:
    """An executor at the other end of a URL of the operator's: it gets `{dag, meta}`, signed."""

    def __init__(self, url: Url, poster: Poster, secrets: Secrets, clock: Clock | None = None) -> None:
        self.url, self.poster, self.secrets, self.clock = url, poster, secrets, clock or SystemClock()

    async def run(self, dag: Dag, meta: Mapping[str, Any]) -> Receipt:
        """Send it. An answer of JSON may name the run: `{"run_id": "…"}`."""
        key, now = str(meta["idempotency_key"]), int(self.clock.now())
        body = json.dumps({"dag": dag, "meta": meta}, separators=(",", ":")).encode()
        headers = {
            "Content-Type": "application/json",
            "webhook-id": key,
            "webhook-timestamp": str(now),
            "webhook-signature": sign(self.secrets.of(""), key, now, body),
        }
        try:
            reply = await self.poster.post(self.url, headers, body, SECONDS)
        except NotSent:
            return Receipt(Answer.RETRYABLE)
        except HalfSent:
            return Receipt(Answer.UNKNOWN)
        answer = meaning(reply, key)
        return Receipt(
            answer, patience(reply, now), run_id_of(reply.body) if answer is Answer.OK else "", report_of(reply)
        )


def run_id_of(body: bytes) -> str:
    """What an answer calls the run; empty if it says nothing that can be kept."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    name = said.get("run_id") if isinstance(said, dict) else None
    return name if isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable() else ""
