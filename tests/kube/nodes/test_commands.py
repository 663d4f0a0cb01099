"""What kubectl shows about KronJobs whose pods have run."""

import json

import pytest

pytestmark = pytest.mark.campaign


def test_get_shows_the_last_outcome_and_the_next_run(shop):
    shop.until(lambda: shop.status("succeeds").get("lastEnd") == "success", "a run succeeded")
    head, *lines = shop.kubectl("get", "kj").splitlines()
    assert head.split() == ["NAME", "SCHEDULE", "SUSPEND", "ACTIVE", "LAST", "OUTCOME", "END", "NEXT", "AGE"]
    line = next(line for line in lines if line.startswith("succeeds "))
    assert {"executed", "success", shop.status("succeeds")["nextRun"]} <= set(line.split())


def test_describe_shows_events_and_conditions(shop):
    shop.until(lambda: "JobFailed" in shop.told("fails"), "an event")
    shop.until(lambda: shop.status("fails").get("lastEnd") == "failed", "the status says so")
    shop.until(lambda: shop.condition("fails", "TemplateValid")["status"] == "True", "the template was checked")
    text = shop.kubectl("describe", "kj", "fails")
    assert "Last End:" in text
    assert "TemplateValid" in text
    assert "JobFailed" in text


def test_why_explains_a_skipped_period(shop):
    shop.until(lambda: shop.status("forbid").get("lastReason") == "overlap", "a period is skipped")
    text = shop.kubectl("kron", "why", "forbid")
    assert "skipped (overlap)" in text
    assert "Another run of the schedule was waiting or active." in text
    assert "verified" in text


def test_why_finds_each_recent_period(shop):
    shop.until(lambda: shop.status("succeeds").get("lastEnd") == "success", "a run succeeded")
    for each in shop.status("succeeds")["recent"]:
        answer = json.loads(shop.kubectl("kron", "why", "succeeds", each["periodID"], "-o", "json"))
        assert answer["period"]["outcome"] == "executed"


def test_next_and_get_of_kubectl_kron_agree_with_the_status(shop):
    shop.until(lambda: shop.status("requested").get("nextRun"), "the next run is known")
    next_run = shop.status("requested")["nextRun"]
    assert next_run in shop.kubectl("kron", "next", "requested")
    assert next_run in shop.kubectl("kron", "get")
