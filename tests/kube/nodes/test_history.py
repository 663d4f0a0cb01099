"""What is left of Jobs and pods: history limits, expiry, and garbage collection."""

import pytest

pytestmark = pytest.mark.campaign


def succeeded(shop, name):
    return [run for run in shop.runs(name) if str(run.state) == "success"]


def test_limit_keeps_the_newest_job(shop):
    shop.until(lambda: len(succeeded(shop, "one-kept")) > 1, "two runs succeeded")
    shop.until(lambda: len(shop.jobs("one-kept")) == 1 and shop.pods_in("one-kept", "Succeeded"), "one Job is kept")
    assert len(shop.pods("one-kept")) == 1


def test_limit_of_0_keeps_no_job(shop):
    shop.until(lambda: succeeded(shop, "none-kept"), "a run succeeded")
    shop.until(lambda: not shop.jobs("none-kept"), "its Job is gone")


def test_job_that_kubernetes_removes_after_its_end_has_succeeded(shop):
    shop.until(lambda: len(succeeded(shop, "expires")) > 1, "two runs succeeded")
    shop.until(lambda: not shop.jobs("expires"), "their Jobs are gone")
    assert {str(run.state) for run in shop.runs("expires") if not run.open} == {"success"}


def test_deleted_kronjob_takes_its_jobs_and_pods_with_it(shop):
    shop.until(lambda: shop.pods_in("deleted", "Running"), "a pod runs")
    (pod,) = shop.pods("deleted")
    shop.kubectl("delete", "kj", "deleted")
    path = f"/api/v1/namespaces/{shop.namespace}/pods/{pod['metadata']['name']}"
    shop.until(lambda: shop.cluster.request("GET", path).status_code == 404, "the pod is gone")
    shop.until(lambda: not shop.jobs("deleted"), "the Job is gone")
    shop.until(lambda: all(not run.open for run in shop.runs("deleted")), "the run has ended")
