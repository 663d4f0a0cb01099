"""Worker start: what must run so that the targets of a kind are launched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kron.apps.dashboard.command_line import CommandLine
from kron.engine.fleet import FUNCTIONS, kind_of

_WEBHOOKS = ("Webhooks need a worker with KRON_WEBHOOK_SECRET", "")
_KINDS = {
    "http": _WEBHOOKS,
    "https": _WEBHOOKS,
    "command": ("Host commands need a worker with a journal", " --command-journal=journal"),
    "kubernetes": ("Kubernetes Jobs need a worker with access to the cluster", " --kubernetes"),
    "workflow": ("Workflows need a worker with KRON_WORKFLOW_STORE and KRON_EXECUTOR_URL", ""),
}


class WorkerStart(NamedTuple):
    """What a kind of target needs, and the command that starts it; the command is empty if there is none."""

    text: str
    command: str


def worker_starts(targets: Iterable[str], commands: CommandLine) -> list[WorkerStart]:
    """Return what must run for these targets, each kind once."""
    kinds = sorted({kind_of(target) for target in targets})
    starts = [_start(kind, commands) for kind in kinds]
    return list(dict.fromkeys(starts)) or [WorkerStart("Start a worker", commands.worker())]


def _start(kind: str, commands: CommandLine) -> WorkerStart:
    if kind.partition(":")[0].lower() == FUNCTIONS:
        text = "Functions run in the application that declares them: start the application. kron worker cannot run them"
        return WorkerStart(text, "")
    text, option = _KINDS.get(kind, ("Other targets need a worker that can launch them", ""))
    return WorkerStart(text, commands.worker(option) if kind in _KINDS else "")
