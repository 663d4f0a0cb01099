"""`krontab history`: show the recent runs of a job."""

from __future__ import annotations

from functools import partial

from kron.apps.krontab.job_command import run_job_command

run = partial(run_job_command, "runs")
