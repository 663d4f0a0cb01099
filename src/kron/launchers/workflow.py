"""Workflow launcher of the service: loads the DAG of a workflow from its store and hands it to an `Executor`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, quote, unquote
from uuid import uuid4

from kron.engine.clock import Clock, SystemClock
from kron.engine.launcher import Launch
from kron.launchers.http import response_of, unanswered
from kron.launchers.post import NotSent, PartiallySent, Poster
from kron.launchers.signature import Secrets, sign
from kron.launchers.target import Url
from kron.rules.launch_result import LaunchResponse, LaunchResult
from kron.rules.run import Run
from kron.timing.zone import rfc3339

Dag = dict[str, Any]
TIMEOUT_SECONDS = 8.0
_MAX_FOLDER_NAME = 200  # maximum characters of a folder name


class WorkflowStore(Protocol):
    """Storage of DAGs by workflow and version."""

    async def load_dag(self, workflow_id: str, version: int) -> Dag | None:
        """Return the DAG of a version; None if there is none."""

    async def save_dag(self, workflow_id: str, version: int, dag: Dag) -> None:
        """Store the DAG of a version atomically."""


class Executor(Protocol):
    """Runner of DAGs. It must deduplicate by `meta["idempotency_key"]`: the same run can be handed over twice."""

    async def run(self, dag: Dag, meta: Mapping[str, Any]) -> LaunchResult | LaunchResponse | None:
        """Accept a DAG for execution.

        Args:
            dag: The DAG to run.
            meta: `source`, `user_id`, `scheduled_for`, `idempotency_key`, `tenant` if the service has tenants, and
                `payload` if the schedule has one.

        Returns:
            The launch result; None means OK. A `LaunchResponse` can carry the executor's own run id.
        """


class WorkflowFolder:
    """Workflow store in files: a folder per workflow, a JSON file per version."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    async def load_dag(self, workflow_id: str, version: int) -> Dag | None:
        """Return the DAG of a version; None if there is none or the file does not hold a JSON object."""
        return await asyncio.to_thread(self._read, self._path(workflow_id, version))

    async def save_dag(self, workflow_id: str, version: int, dag: Dag) -> None:
        """Store the DAG of a version atomically."""
        await asyncio.to_thread(self._write, self._path(workflow_id, version), json.dumps(dag))

    def _path(self, workflow_id: str, version: int) -> Path:
        """Return the path of a version. Dots and slashes of the id are encoded, so that no id escapes the folder."""
        name = quote(workflow_id, safe="").replace(".", "%2E")
        name = name if len(name) <= _MAX_FOLDER_NAME else "sha256-" + sha256(workflow_id.encode()).hexdigest()
        return self.root / name / f"{int(version)}.json"

    def _read(self, path: Path) -> Dag | None:
        try:
            dag = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return dag if isinstance(dag, dict) else None

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{uuid4().hex}.draft")  # unique per call: others can write this version too
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)


class RunLauncher:
    """Starts workflow runs: loads a DAG from `workflows` and hands it to `executor`."""

    def __init__(self, workflows: WorkflowStore, executor: Executor) -> None:
        self.workflows, self.executor = workflows, executor

    async def start(
        self, workflow_id: str, version: int, user_id: str, scheduled_for: str, idempotency_key: str, tenant: str = ""
    ) -> bool:
        """Start a workflow run. Returns True if the executor accepted it, False also if the workflow does not exist."""
        response = await self.launch(workflow_id, version, user_id, scheduled_for, idempotency_key, tenant)
        return response.result is LaunchResult.OK

    async def launch(
        self,
        workflow_id: str,
        version: int,
        user_id: str,
        scheduled_for: str,
        key: str,
        tenant: str = "",
        payload: str | None = None,
    ) -> LaunchResponse:
        """Start a workflow run and return the executor's response; RETRYABLE if the workflow does not exist.

        With a tenant, the executor gets `tenant`, and the user id is `tenant/user`.
        """
        dag = await self.workflows.load_dag(workflow_id, version)
        if dag is None:
            cause = f"workflow {workflow_id!r} has no version {version}"
            return LaunchResponse(LaunchResult.RETRYABLE, excerpt=cause)
        meta = {
            "source": "schedule",
            "user_id": f"{tenant}/{user_id}" if tenant else user_id,
            "scheduled_for": scheduled_for,
            "idempotency_key": key,
            **({"tenant": tenant} if tenant else {}),
            **({"payload": json.loads(payload)} if payload is not None else {}),
        }
        response = await self.executor.run(dag, meta) or LaunchResult.OK
        return response if isinstance(response, LaunchResponse) else LaunchResponse(response)


class WorkflowLauncher:
    """Launcher of `workflow:id?version=3&user=u1` targets, through a `RunLauncher`."""

    def __init__(self, starter: RunLauncher | None, secrets: Secrets) -> None:
        self.starter, self.secrets = starter, secrets

    async def start(self, launch: Launch) -> LaunchResponse:
        """Start the workflow run. REJECTED if the service has no executor."""
        if self.starter is None:
            return LaunchResponse(LaunchResult.REJECTED, excerpt="this service has no executor")
        name, _, query = launch.job.target.partition(":")[2].partition("?")
        parameters, tenant = dict(parse_qsl(query)), self.secrets.tenant_of(launch.run.identity)
        workflow = (f"{tenant}/" if tenant else "") + unquote(name)
        scheduled_for = rfc3339(launch.run.nominal)
        version, user = int(parameters["version"]), parameters["user"]
        key, payload = launch.run.key, launch.job.payload
        return await self.starter.launch(workflow, version, user, scheduled_for, key, tenant, payload)

    async def cancel(self, run: Run) -> None:
        """Do nothing: executors are not told of cancellations."""


class HttpExecutor:
    """Executor behind a URL that the operator configures. It gets `{dag, meta}` as a signed POST."""

    def __init__(self, url: Url, poster: Poster, secrets: Secrets, clock: Clock | None = None) -> None:
        self.url, self.poster, self.secrets, self.clock = url, poster, secrets, clock or SystemClock()

    async def run(self, dag: Dag, meta: Mapping[str, Any]) -> LaunchResponse:
        """Send the DAG. A JSON response can name the executor's run: `{"run_id": "…"}`."""
        key, now = str(meta["idempotency_key"]), int(self.clock.now())
        body = json.dumps({"dag": dag, "meta": meta}, separators=(",", ":")).encode()
        headers = {
            "Content-Type": "application/json",
            "webhook-id": key,
            "webhook-timestamp": str(now),
            "webhook-signature": (signature := sign(self.secrets.of(""), key, now, body)),
        }
        try:
            reply = await self.poster.post(self.url, headers, body, TIMEOUT_SECONDS)
        except (NotSent, PartiallySent) as error:
            return unanswered(error)
        response = response_of(reply, key, now, signature.split())
        return response._replace(run_id=run_id_of(reply.body)) if response.result is LaunchResult.OK else response


def run_id_of(body: bytes) -> str:
    """Return the `run_id` of a response body; empty if it has none of 1 to 200 printable characters."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    run_id = content.get("run_id") if isinstance(content, dict) else None
    return run_id if isinstance(run_id, str) and 0 < len(run_id) <= 200 and run_id.isprintable() else ""
