"""`krontab why`: show the outcome of a period and its reason."""

from __future__ import annotations

from functools import partial

from kron.apps.krontab.job_command import run_job_command

run = partial(run_job_command, "why")
