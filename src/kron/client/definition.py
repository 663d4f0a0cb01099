"""Definitions of the HTTP API clients: dictionaries with these keys.

`make docs` writes this file from the OpenAPI document of the service.
"""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict


class WebhookOptions(TypedDict, total=False):
    """How a webhook is sent: method, additional headers, and the status codes that accept a run."""

    method: Literal["POST", "PUT", "PATCH"]
    headers: dict[str, str]
    success: str


class Definition(TypedDict, total=False):
    """A schedule: when it runs, and its target: either `target`, or a workflow with its version and user."""

    schedule: Required[str]
    jitter_ms: int | None
    overlap_policy: (
        Literal[
            "allow",
            "skip",
            "queue",
            "coalesce",
            "replace",
            "AllowAll",
            "Skip",
            "BufferAll",
            "BufferOne",
            "CancelOther",
            "TerminateOther",
        ]
        | None
    )
    overlap_limit: int | None
    catchup_policy: Literal["none", "fire_immediately", "spread"] | None
    completion: Literal["accepted", "reported"] | None
    deadline_ms: int | None
    launch_attempts: int | None
    launch_backoff_ms: int | None
    launch_factor: int | None
    launch_max_delay_ms: int | None
    launch_jitter_percent: int | None
    retry_delay_ms: int | None
    retry_attempts: int | None
    retry_factor: int | None
    retry_max_delay_ms: int | None
    retry_jitter_percent: int | None
    timeout_ms: int | None
    max_runs: int | None
    pause_on_failure: int | None
    after_end: Literal["keep", "delete"] | None
    dialect: Literal[
        "posix", "service", "kron", "fuzzy", "plus", "vixie", "quartz", "aws", "jenkins", "rrule", "placeholder"
    ]
    timezone: str | None
    dst: str | None
    target: str | None
    workflow_id: str | None
    version: int | None
    user_id: str | None
    description: str
    start_at: str | None
    end_at: str | None
    payload: Any
    labels: dict[str, str]
    webhook: WebhookOptions | None
    note: str
