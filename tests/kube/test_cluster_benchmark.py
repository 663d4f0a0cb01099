"""The benchmark against the CronJob controller: its table, its verdicts, and a short run on a real control plane."""

import os
import re
import subprocess
import sys

import pytest
from benchmarks.kube.audit import OPERATOR, AuditLog
from benchmarks.kube.figure import Figure, percentile, table

from tests.kube.cluster.release import CRONJOBS_SINCE, chosen_release

LINE = (
    '{"stageTimestamp":"2026-03-01T10:00:00.250000Z","userAgent":"%s","verb":"%s","requestURI":"%s",'
    '"objectRef":{"resource":"jobs","namespace":"shop","name":"report-1"},"responseStatus":{"code":201}}\n'
)


def test_missed_target_is_a_verdict():
    figures = [Figure("a", "s", 1.0, 2, 3.0), Figure("b", "s", 3.0, 2, 400, cronjob_exceeds=True), Figure("c", "", 5)]
    lines = table(figures).splitlines()
    assert [figure.reached for figure in figures] == [True, False, True]
    assert [line.split()[-1] for line in lines[1:]] == ["reached", "MISSED", "-"]
    assert ">400" in lines[2]


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_percentile_is_one_of_the_values(share, expected):
    assert percentile(range(100, 0, -1), share) == expected
    assert percentile([], share) == float("inf")


def test_audit_log_tells_who_created_jobs(tmp_path):
    log = tmp_path / "audit.log"
    log.write_text(
        LINE % ("kron/0.1", "create", "/jobs")
        + LINE % ("kron/0.1", "create", "/jobs?dryRun=All")
        + LINE % ("kron/0.1", "watch", "/jobs")
        + LINE % ("kube-controller-manager/cronjob-controller", "create", "/jobs")
        + LINE % ("benchmark", "create", "/jobs")
        + "half a li"
    )
    audit = AuditLog(log)
    calls = audit.since(0, OPERATOR)
    assert [(call.at, call.is_job_creation) for call in calls] == [(1772359200.25, True), (1772359200.25, False)]
    assert len(audit.read()) == 4


@pytest.mark.slow
def test_short_run_counts_every_job_on_both_sides():
    release = chosen_release()
    if release.missing():
        pytest.skip(f"no Kubernetes {release.version} in {release.programs}: run `make kube`")
    if release.minor < CRONJOBS_SINCE:
        pytest.skip(f"Kubernetes {release.version} has no CronJobs in batch/v1")
    environment = {**os.environ, "KRON_KUBE_JOBS": "100"}
    words = [sys.executable, "-m", "benchmarks.kube"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=540, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("PASS: ")
    rows = {line[:58].strip(): line[58:].split() for line in done.stdout.splitlines() if re.search("<=", line)}
    assert rows["100 due in one second: last Job created"]
    assert rows["of these without a Job"][2] == "0"
    assert float(rows["requests for a run, from creation to deletion of its Job"][2]) >= 3
    assert float(rows["requests for a run, from creation to deletion of its Job"][3]) >= 3
