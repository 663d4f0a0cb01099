"""Completion: whether an accepted launch is a finished run, or its end is to be reported."""

from dataclasses import replace

from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.outcome import Outcome
from kron.rules.run_state import State
from kron.timing.schedule.policy import DECLARATIVE, KRON, SERVICE, Completion
from tests.engine.world import World, play

MINUTES = ("2026-03-01T12:00:00Z", "2026-03-01T12:05:30Z")


async def minutely(policy, answers=()):
    """A schedule of every minute for five minutes, whose target never reports."""
    world = World(MINUTES[0], answers=answers)
    await world.define("* * * * *", policy)
    await world.run(MINUTES[1])
    return world, await world.store.runs("job", 10)


def test_completion_of_each_preset():
    """Functions, commands and Kubernetes Jobs are followed by their launchers, webhooks and workflows are not."""
    assert SERVICE.completion is Completion.ACCEPTED
    assert KRON.completion is DECLARATIVE.completion is Completion.REPORTED


def test_accepted_launch_is_finished_and_blocks_no_later_run():
    async def script():
        _, runs = await minutely(SERVICE)
        assert [run.state for run in runs] == [State.SUCCESS] * 5
        assert {(run.outcome, run.reason, run.lease) for run in runs} == {(Outcome.EXECUTED, None, None)}

    play(script())


def test_reported_launch_holds_a_lease_until_its_report():
    async def script():
        world, runs = await minutely(replace(SERVICE, completion=Completion.REPORTED))
        assert [run.state for run in runs] == [State.SKIPPED] * 4 + [State.ENQUEUED]
        assert runs[-1].lease is not None
        assert await world.registrar.report(runs[-1].key, Report.SUCCESS)

    play(script())


def test_answer_that_says_started_is_followed_whatever_the_policy():
    async def script():
        world, runs = await minutely(SERVICE, [LaunchResponse(LaunchResult.OK, report=Report.STARTED)])
        assert [run.state for run in runs] == [State.SKIPPED] * 4 + [State.STARTED]
        assert await world.registrar.report(runs[-1].key, Report.FAILED)
        assert (await world.store.runs("job", 10))[-1].state is State.FAILED

    play(script())


def test_late_report_of_a_finished_run_changes_nothing():
    async def script():
        world, runs = await minutely(SERVICE)
        assert not await world.registrar.report(runs[0].key, Report.FAILED)
        assert await world.store.runs("job", 10) == runs

    play(script())


def test_accepted_answer_that_says_failed_is_a_failure():
    async def script():
        _, runs = await minutely(SERVICE, [LaunchResponse(LaunchResult.OK, report=Report.FAILED)])
        assert [run.state for run in runs] == [State.SUCCESS] * 4 + [State.FAILED]

    play(script())
