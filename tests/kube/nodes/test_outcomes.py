"""The four outcomes, and how Jobs with real pods end."""

import time

import pytest

from kron.kube.names import CHOSEN, GENERATION, KEY, PERIOD_ID, PERIOD_LABEL, TRIGGER
from kron.timing.zone import instant_of
from tests.kube.nodes.kronjobs import PERIOD_SECONDS

pytestmark = pytest.mark.campaign


def has_condition(job, kind, reason=""):
    conditions = job["status"].get("conditions") or ()
    return any(each["type"] == kind and reason in ("", each.get("reason")) for each in conditions)


def test_executed_run_has_a_job_whose_pod_succeeded(shop):
    run = shop.run_with("succeeds", outcome="executed", state="success")
    job, pod = shop.jobs("succeeds")[0], shop.pods("succeeds")[0]
    marks = job["metadata"]["annotations"]
    assert (marks[KEY], instant_of(marks[PERIOD_ID]), marks[GENERATION]) == (run.key, run.nominal, "1")
    assert job["metadata"]["labels"][PERIOD_LABEL] == marks[PERIOD_ID].replace("-", "").replace(":", "")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    shop.until(lambda: shop.status("succeeds").get("lastEnd") == "success", "the status says so")
    shop.until(lambda: {"JobCreated", "JobSucceeded"} <= shop.told("succeeds"), "events say so")


def test_exit_status_of_the_pod_makes_the_run_fail(shop):
    run = shop.run_with("fails", outcome="executed", state="failed")
    assert str(run.reason) == "failed"
    pod = shop.pods("fails")[0]
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    shop.until(lambda: shop.status("fails").get("lastEnd") == "failed", "the status says so")
    shop.until(lambda: "JobFailed" in shop.told("fails"), "an event says so")


def test_job_that_tries_a_second_pod_is_one_run(shop):
    """The Job controller tries again, and Kron waits for its verdict."""
    run = shop.run_with("retries", state="failed")
    job = next(each for each in shop.jobs("retries") if each["metadata"]["annotations"][KEY] == run.key)
    assert job["status"]["failed"] == 2
    assert run.attempt == 1


def test_job_beyond_its_own_deadline_fails(shop):
    shop.run_with("too-long", state="failed")
    assert any(has_condition(job, "Failed", "DeadlineExceeded") for job in shop.jobs("too-long"))


def test_period_whose_deadline_passes_without_an_operator_is_missed(shop):
    shop.run_with("short-deadline", outcome="executed")
    shop.operator.kill()
    time.sleep(PERIOD_SECONDS + 5)
    shop.operator.start()
    missed = shop.run_with("short-deadline", outcome="missed")
    assert str(missed.reason) == "deadline"
    assert missed.nominal not in {instant_of(period) for period in shop.periods("short-deadline")}
    shop.until(lambda: "Missed" in shop.told("short-deadline"), "an event says so")


def test_period_without_a_second_that_the_constraints_allow_is_unschedulable(shop):
    run = shop.run_with("unschedulable", outcome="unschedulable")
    assert str(run.reason) == "constraints"
    assert shop.jobs("unschedulable") == []
    shop.until(lambda: "Unschedulable" in shop.told("unschedulable"), "an event says so")


def test_job_is_created_at_the_chosen_second_of_its_window(shop):
    shop.run_with("window", state="success")
    job = shop.jobs("window")[0]["metadata"]
    period, chosen = (instant_of(job["annotations"][name]) for name in (PERIOD_ID, CHOSEN))
    assert period <= chosen <= period + 10  # the last second is part of the window
    assert instant_of(job["creationTimestamp"]) >= chosen


@pytest.mark.parametrize("name", ["line", "service"])
def test_schedule_in_another_language_runs(shop, name):
    shop.run_with(name, state="success")


def test_refused_template_is_missed_with_its_reason(shop):
    run = shop.run_with("bad-template", outcome="missed")
    assert str(run.reason) == "launch_failed"
    shop.until(lambda: shop.condition("bad-template", "TemplateValid")["status"] == "False", "the condition says so")
    assert "containers" in shop.condition("bad-template", "TemplateValid")["message"]


@pytest.mark.parametrize("name", ["suspended", "paused"])
def test_no_pod_runs_for_periods_in_which_a_kronjob_rests(shop, name):
    shop.until(lambda: shop.condition(name, "Suspended")["status"] == "True", "it rests")
    assert shop.condition(name, "Suspended")["reason"] == name.capitalize()
    time.sleep(PERIOD_SECONDS + 5)
    assert shop.jobs(name) == []
    lifted = int(time.time())
    if name == "suspended":
        shop.change(name, policy={"suspend": False})
    else:
        shop.annotate(name, pause=None)
    shop.run_with(name, state="success")
    assert min(instant_of(period) for period in shop.periods(name)) >= lifted - 5  # its deadline is 5 s


def test_request_of_an_annotation_runs_once(shop):
    run = shop.run_with("requested", state="success")
    assert run.trigger == "ticket-5"
    (job,) = shop.jobs("requested")
    assert job["metadata"]["annotations"][TRIGGER] == "ticket-5"
