"""Which jobs the campaign `web_kills` has, and how long they are leased."""

from __future__ import annotations

LEASE_SECONDS = 10  # after so long without a heartbeat, a run is lost and starts again
EVERY_SECONDS = 10
APPLICATIONS = ("api", "web")
JOBS_OF_A_KIND = 50  # declared ones, and ones that a route creates, of each application


def names(application: str, kind: str) -> list[str]:
    """Names of jobs. `restart` tells the examination that a period can be called several times."""
    return [f"{application}-{kind}-{number}-restart" for number in range(JOBS_OF_A_KIND)]
