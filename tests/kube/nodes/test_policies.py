"""The five concurrency policies with real pods."""

from itertools import pairwise

import pytest

from kron.kube.names import KEY
from kron.timing.zone import instant_of

pytestmark = pytest.mark.campaign


def spans(shop, name):
    """Begin and end of the Jobs that have ended, in seconds."""
    statuses = [job["status"] for job in shop.jobs(name)]
    return [
        (instant_of(each["startTime"]), instant_of(each["completionTime"]))
        for each in statuses
        if each.get("completionTime")
    ]


def test_allow_runs_jobs_at_the_same_time(shop):
    shop.until(lambda: len(spans(shop, "allow")) > 1, "two Jobs have ended")
    assert any(later < end for (_, end), (later, _) in pairwise(spans(shop, "allow")))


def test_forbid_skips_while_the_pod_runs(shop):
    skipped = shop.run_with("forbid", outcome="skipped")
    assert str(skipped.reason) == "overlap"
    assert len(shop.jobs("forbid")) == len(shop.pods_in("forbid", "Running")) == 1
    assert shop.status("forbid")["active"] == 1
    shop.until(lambda: "Skipped" in shop.told("forbid"), "an event says so")


def test_replace_ends_the_pod_that_runs(shop):
    replaced = shop.run_with("replace", reason="replaced")

    def is_replaced():
        keys = [job["metadata"]["annotations"][KEY] for job in shop.jobs("replace")]
        return len(keys) == 1 and replaced.key not in keys and len(shop.pods_in("replace", "Running")) == 1

    shop.until(is_replaced, "the first Job is gone, and one pod runs")
    shop.until(lambda: "Replaced" in shop.told("replace"), "an event says so")


def test_queue_starts_after_the_end_of_the_job_before(shop):
    shop.until(lambda: len(spans(shop, "queue")) > 1, "two Jobs have ended")
    assert all(later >= end for (_, end), (later, _) in pairwise(spans(shop, "queue")))
    (first, second), *_ = pairwise(shop.runs("queue"))
    assert str(first.outcome) == str(second.outcome) == "executed"


def test_coalesce_lets_the_newest_period_wait(shop):
    shop.run_with("coalesce", reason="coalesced", outcome="missed")
    shop.until(lambda: len(spans(shop, "coalesce")) > 1, "two Jobs have ended")
    assert all(later >= end for (_, end), (later, _) in pairwise(spans(shop, "coalesce")))
