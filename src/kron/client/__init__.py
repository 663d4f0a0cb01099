"""HTTP API clients: `Client` (blocking) and `AsyncClient`. Error responses are raised with the service's error code."""

from kron.client.asynchronous import AsyncClient
from kron.client.blocking import Client
from kron.client.results import Attempt, DeadLetter, Json, Run, RunDetails, Schedule, UpcomingRun, UpcomingRuns

__all__ = [
    "AsyncClient",
    "Attempt",
    "Client",
    "DeadLetter",
    "Json",
    "Run",
    "RunDetails",
    "Schedule",
    "UpcomingRun",
    "UpcomingRuns",
]
