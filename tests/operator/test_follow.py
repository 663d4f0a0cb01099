"""Following Jobs: what happens to them becomes reports, each once."""

import asyncio

import pytest

from kron.apps.operator.follow import JOB_DELETED, JOB_VANISHED, Follower
from kron.apps.operator.job_record import belongs_to_run, job_record_of
from kron.errors import NotFound
from kron.kube.kind import Place
from kron.rules.launch_result import Report
from tests.operator.making import START, a_job, a_kronjob

SUCCESS, FAILED, LOST, STARTED = Report.SUCCESS, Report.FAILED, Report.LOST, Report.STARTED


class Reports:
    """Hears reports. Keys in `missing` are not in the ledger."""

    def __init__(self):
        self.heard, self.missing = [], set()

    async def write(self, key, report, *, excerpt="", ended=None, **_):
        if key in self.missing:
            raise NotFound("NOT_FOUND", "no run")
        self.heard.append((report, excerpt, ended))
        return True

    def stop_retrying(self, seconds):
        """Do nothing."""


class NoJobs:
    """A cluster without Jobs."""

    def jobs(self):
        return iter(())


def heard(use, missing=()):
    """What is reported when a follower is used, and how often a Job was unknown."""
    reports, unknown = Reports(), []
    reports.missing.update(missing)

    async def main():
        follower = Follower(NoJobs(), reports, lambda: unknown.append(1))
        use(follower)
        await follower.drain(30)

    asyncio.run(main())
    return reports.heard, len(unknown)


@pytest.mark.parametrize(("condition", "report", "cause"), [("Complete", SUCCESS, ""), ("Failed", FAILED, "Why")])
def test_end_is_reported_once_with_its_time(condition, report, cause):
    place, running = a_job(START + 60)
    _, ended = a_job(START + 60, condition, at=START + 75)

    def use(follower):
        follower.job_changed(place, running, ended)
        follower.job_changed(place, ended, ended)
        follower.jobs_deleted([(place, ended)], by_list=False)

    assert heard(use) == ([(report, cause, (START + 75) * 1000)], 0)


@pytest.mark.parametrize("condition", ["SuccessCriteriaMet", "FailureTarget", "Suspended"])
def test_other_conditions_are_no_end(condition):
    place, running = a_job(START + 60)
    _, other = a_job(START + 60, condition)
    assert heard(lambda follower: follower.job_changed(place, running, other)) == ([], 0)


def test_condition_that_is_false_is_no_end():
    body = {"metadata": {"name": "n"}, "status": {"conditions": [{"type": "Complete", "status": "False"}]}}
    assert job_record_of(body).end is None


def test_new_job_is_a_sign_of_life():
    place, running = a_job(START + 60)
    assert heard(lambda follower: follower.job_changed(place, None, running)) == ([(STARTED, "", None)], 0)


def test_job_that_was_deleted_before_its_end_has_failed():
    place, running = a_job(START + 60)
    result, _ = heard(lambda follower: follower.jobs_deleted([(place, running)], by_list=False))
    assert result == [(FAILED, JOB_DELETED, None)]


def test_job_that_a_list_misses_is_lost():
    """It may have ended, and its time to live may have been over, while no watch told of it."""
    place, running = a_job(START + 60)
    result, _ = heard(lambda follower: follower.jobs_deleted([(place, running)], by_list=True))
    assert result == [(LOST, JOB_VANISHED, None)]


def test_job_without_a_run_of_kron_is_left_alone():
    place, running = a_job(START + 60)
    by_hand = running._replace(mark=running.mark._replace(key=""))
    renamed = Place("shop", "report-by-hand")

    def use(follower):
        follower.job_changed(place, None, by_hand)
        follower.job_changed(renamed, None, running)
        follower.jobs_deleted([(place, by_hand), (renamed, running)], by_list=False)

    assert heard(use) == ([], 0)
    assert belongs_to_run(place, running)


def test_job_that_the_ledger_does_not_know_is_told():
    place, ended = a_job(START + 60, "Complete")
    _, running = a_job(START + 60)
    missing = {ended.mark.key}
    assert heard(lambda follower: follower.job_changed(place, running, ended), missing) == ([], 1)
    assert heard(lambda follower: follower.job_changed(place, None, running), missing) == ([], 1)


def test_requested_run_has_its_request():
    place, record = a_job(START + 60, trigger="ticket-5", kronjob=a_kronjob("other"))
    assert (record.trigger, record.kronjob) == ("ticket-5", "other")
    assert belongs_to_run(place, record)
