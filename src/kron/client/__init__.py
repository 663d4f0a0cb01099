"""HTTP API clients: `Client` (blocking) and `AsyncClient`. Error responses are raised with the service's error code."""

from kron.client.asynchronous import AsyncClient
from kron.client.blocking import Client
from kron.client.definition import Definition, WebhookOptions
from kron.client.results import (
    Attempt,
    BackfillPlan,
    Change,
    DeadLetter,
    Json,
    MovedRun,
    PausePlan,
    PlannedPeriod,
    Run,
    RunDetails,
    Schedule,
    ScheduleComparison,
    UpcomingRun,
    UpcomingRuns,
    Upserted,
    Why,
)

__all__ = [
    "AsyncClient",
    "Attempt",
    "BackfillPlan",
    "Change",
    "Client",
    "DeadLetter",
    "Definition",
    "Json",
    "MovedRun",
    "PausePlan",
    "PlannedPeriod",
    "Run",
    "RunDetails",
    "Schedule",
    "ScheduleComparison",
    "UpcomingRun",
    "UpcomingRuns",
    "Upserted",
    "WebhookOptions",
    "Why",
]
