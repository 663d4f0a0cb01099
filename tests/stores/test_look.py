"""What is seen of a store: the cases that are due, their runs, and the pages of what there is."""

import pytest

from kron.engine.fleet import SHARDS, shard_of
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.run_state import State
from kron.rules.update import ScheduleUpdate
from tests.stores.making import (
    ALL,
    MANY,
    NOW,
    SECONDS,
    a_case,
    a_gap,
    a_job,
    a_revision,
    a_run,
    define,
    now,
    say,
    some,
    write,
)

NAMES = [f"s{n}" for n in range(40)]


def names(cases):
    return [case.identity for case in cases]


def test_the_longest_waiting_come_first(store):
    for n, name in enumerate(NAMES):
        define(store, a_case(name, next_check_at=NOW - n % 7))
    expected = sorted(NAMES, key=lambda name: (NOW - NAMES.index(name) % 7, name))
    assert names(store.fetch_due(ALL, NOW, MANY)) == expected
    assert names(store.fetch_due(ALL, NOW, 5)) == expected[:5]
    assert names(store.fetch_due(ALL, NOW, 5)) == expected[:5]  # looking takes nothing away
    assert names(store.fetch_due(ALL, NOW, 0)) == []


def test_those_beyond_a_place_come_after_it_in_the_same_order(store):
    for n, name in enumerate(NAMES):
        define(store, a_case(name, next_check_at=NOW + n % 7))
    expected = names(store.fetch_due(ALL, NOW + 6, MANY))
    pages, place = [], (NOW, "")
    while page := store.fetch_due(ALL, NOW + 6, 9, place):
        pages += names(page)
        place = (page[-1].next_check_at, page[-1].identity)
    assert pages == expected
    assert names(store.fetch_due(ALL, NOW + 6, MANY, (NOW + 1, ""))) == [n for n in expected if NAMES.index(n) % 7]
    assert names(store.fetch_due(some(3, 4), NOW + 6, MANY, (NOW + 1, "s2"))) == [
        name for name in expected if shard_of(name) in (3, 4) and (NAMES.index(name) % 7, name) > (1, "s2")
    ]


def test_the_instant_itself_is_due_and_the_next_is_not(store):
    define(store, a_case(next_check_at=NOW))
    assert names(store.fetch_due(ALL, NOW - 1, 10)) == []
    assert names(store.fetch_due(ALL, NOW, 10)) == ["a"]


def test_what_will_never_be_due_is_not_shown(store):
    define(store, a_case(next_check_at=None))
    assert store.fetch_due(ALL, NOW * 2, 10) == []
    assert store.wake(ALL) is None


def test_only_the_shards_that_were_asked_for(store):
    for name in NAMES:
        define(store, a_case(name))
    for shard in range(SHARDS):
        mine = [name for name in sorted(NAMES) if shard_of(name) == shard]
        assert names(store.fetch_due(some(shard), NOW, MANY)) == mine
        assert store.wake(some(shard)) == (NOW if mine else None)
    assert store.fetch_due(some(), NOW, MANY) == []
    assert store.wake(some()) is None


def test_the_first_to_wake(store):
    define(store, a_case("a", next_check_at=NOW + 7))
    define(store, a_case("b", next_check_at=NOW + 3))
    assert store.wake(ALL) == NOW + 3
    assert write(store, now(store, "b"), next_check_at=NOW + 9)
    assert store.wake(ALL) == NOW + 7
    assert store.wake(some(shard_of("b"))) == NOW + 9


def test_a_schedule_is_seen_once_however_often_it_was_woken(store):
    define(store, None, a_run(State.STARTED))
    for earlier in range(5):
        (run,) = now(store).open_runs
        assert say(store, run, run._replace(lease=NOW + earlier), NOW - earlier)
    assert write(store, now(store), next_check_at=NOW)
    assert names(store.fetch_due(ALL, NOW, MANY)) == ["a"]
    assert write(store, now(store), next_check_at=NOW + 5)
    assert store.fetch_due(ALL, NOW, MANY) == []


@pytest.mark.parametrize("idle", [{"paused": True}, {"deleted": True}])
def test_the_runs_of_an_idle_schedule_are_tended_too(store, idle):
    case = define(store, None, a_run(State.STARTED))
    assert write(store, case, **idle)
    (seen,) = store.fetch_due(ALL, NOW, 10)
    assert seen == now(store) == case._replace(**idle)


def test_a_case_comes_with_its_open_runs_in_the_order_of_their_times(store):
    runs = [a_run(minute=minute) for minute in (5, 3, 4)] + [a_run(minute=3, trigger="b"), a_run(State.MISSED, 2)]
    define(store, None, *runs)
    (seen,) = store.fetch_due(ALL, NOW, 10)
    assert seen.open_runs == (runs[1], runs[3], runs[2], runs[0])
    assert store.get(["a"]) == [seen]


def test_periods_beyond_the_cursor_that_are_handled_are_known(store):
    case = define(store, None, a_run(State.SKIPPED, 2), a_run(minute=4), a_run(minute=3, trigger="by hand"))
    assert case.handled_ahead == {SECONDS + 120, SECONDS + 240}
    assert write(store, case, a_run(State.SKIPPED, 1), cursor=SECONDS + 120)
    assert now(store).handled_ahead == {SECONDS + 240}
    assert write(store, now(store), cursor=SECONDS + 240)
    assert now(store).handled_ahead == frozenset()


def test_runs_newest_first(store):
    runs = [a_run(State.SKIPPED, minute) for minute in (3, 1, 2)] + [a_run(State.SKIPPED, 2, trigger="x")]
    define(store, None, *runs)
    define(store, a_case("b"), a_run(State.SKIPPED, 9, identity="b"))
    assert store.runs("a", MANY) == [runs[0], runs[3], runs[2], runs[1]]
    assert store.runs("a", 2) == [runs[0], runs[3]]
    assert store.runs("nobody", MANY) == []


def test_runs_by_the_page(store):
    runs = [a_run(State.SKIPPED, minute) for minute in range(1, 6)]
    runs += [a_run(State.SKIPPED, minute, trigger=request) for minute in (2, 3) for request in ("x", "y")]
    define(store, None, *runs)
    stranger = a_run(State.SKIPPED, 9, identity="b")
    define(store, a_case("b"), stranger)
    page, seen = store.runs("a", 2), []
    while page and len(seen) < len(runs):
        seen += page
        page = store.runs("a", 2, page[-1].key)
    assert (seen, page) == (store.runs("a", MANY), [])
    assert store.runs("a", 2, "no key") == store.runs("a", 2, stranger.key) == []


def test_runs_by_their_keys(store):
    run = a_run(State.SKIPPED)
    define(store, None, run)
    assert store.runs_by_key([run.key, "none", run.key]) == [run, None, run]
    assert store.runs_by_key([]) == []


def test_cases_by_their_names(store):
    case = define(store)
    assert store.get(["b", "a", "a"]) == [None, case, case]
    assert store.get([]) == []


def test_more_than_a_database_takes_in_one_question(store):
    count = 3_000
    runs = [a_run(State.SKIPPED, minute) for minute in range(1, count + 1)]
    define(store, a_case(cursor=runs[-1].nominal), *runs)
    assert store.runs_by_key([run.key for run in runs]) == runs
    assert store.get(["a"] * count) == [now(store)] * count


def test_gaps_oldest_first(store):
    case = define(store)
    assert write(store, case, gap=a_gap(1, 3, 3), cursor=SECONDS + 180)
    assert write(store, now(store), gap=a_gap(5, 9, 4), cursor=SECONDS + 600)
    assert store.gaps("a") == [a_gap(1, 3, 3), a_gap(5, 9, 4)]
    assert store.gaps("b") == []


def test_revisions_oldest_first_and_for_ever(store):
    case = define(store)
    for number in (2, 3):
        assert write(store, now(store), job=a_job(name=str(number)), revision=number)
    assert [revision.number for revision in store.revisions("a")] == [1, 2, 3]
    store.revisions("a").clear()
    assert store.revisions("a")[0] == a_revision(case)
    assert store.revisions("b") == []


def test_names_by_the_page(store):
    odd = ["ä", "z", "Z", "a b", "a", "a:b", "\U0001f600", "％", "日本", "-"]
    for name in odd:
        define(store, a_case(name))
    page, seen = store.identities("", 3), []
    while page and len(seen) < len(odd):
        seen += page
        page = store.identities(page[-1], 3)
    assert (seen, page) == (sorted(odd), [])
    assert write(store, now(store, "z"), deleted=True)
    assert store.identities("Z", 3) == ["a", "a b", "a:b"]
    assert "z" not in store.identities("", MANY)
    assert store.get(["z"])[0].deleted


def test_names_by_what_they_begin_with(store):
    odd = ["a", "ab", "a\U0010ffff", "a\U0010ffffz", "b", "\ud7ff", "\ud7ffx", "\ue000", "\U0010ffff", "\U0010ffffq"]
    for name in odd:
        define(store, a_case(name))
    for prefix in ("", "a", "ab", "abc", "b", "\ud7ff", "\ue000", "\U0010ffff", "a\U0010ffff"):
        assert store.identities("", MANY, prefix) == sorted(name for name in odd if name.startswith(prefix))
    assert store.identities("ab", 1, "a") == ["a\U0010ffff"]
    assert store.identities("b", MANY, "a") == []


def test_names_of_the_paused_and_of_the_deleted(store):
    for name in "abcd":
        define(store, a_case(name))
    assert write(store, now(store, "b"), paused=True)
    assert write(store, now(store, "c"), deleted=True)
    assert write(store, now(store, "d"), deleted=True, paused=True)
    assert store.identities("", MANY, "", None) == ["a", "b"]
    assert store.identities("", MANY, "", True) == ["b"]
    assert store.identities("", MANY, "", False) == ["a"]
    assert store.identities("", MANY, "", None, True) == ["c", "d"]
    assert store.identities("", MANY, "", True, True) == ["d"]


def test_acts_in_the_order_in_which_they_were_written_and_for_ever(store):
    case = define(store)
    acts = [
        ScheduleAction(ActionKind.PAUSED, NOW + 5, NOW + 60_000, "ann", "freeze"),
        ScheduleAction(ActionKind.RESUMED, NOW),  # by a clock that was set back
        ScheduleAction(ActionKind.DELETED, NOW + 1, None, "bob", "ö\n'; --"),
    ]
    for act, state in zip(acts, ({"paused": True, "paused_until": NOW + 60_000}, {}, {"deleted": True}), strict=True):
        (held,) = store.commit([ScheduleUpdate(now(store), case._replace(**state), action=act)], NOW)
        assert held
        assert now(store).paused_until == state.get("paused_until")
    assert store.actions("a") == acts
    store.actions("a").clear()
    assert store.actions("a") == acts
    assert store.actions("b") == []


def test_an_act_is_written_with_its_settlement_or_not_at_all(store):
    case = define(store)
    stale = case._replace(cursor=case.cursor - 60)
    act = ScheduleAction(ActionKind.PAUSED, NOW)
    assert store.commit([ScheduleUpdate(stale, stale._replace(paused=True), action=act)], NOW) == [False]
    assert store.actions("a") == []


def test_the_clock_of_the_store(store, clock):
    assert store.now() == NOW
    clock.advance(1.5)
    assert store.now() == NOW + 1_500
