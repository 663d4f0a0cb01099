"""Who lives, what each can launch, and when there was nobody for a kind of target."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kron.engine.fleet import ALL_SHARDS, SHARDS, Member, leader, shards_for, shares
from kron.rules.downtime import EVER, Downtime
from tests.stores.making import NOW

LEASE = 1_000
HTTP, JOBS = frozenset({"https", "http"}), frozenset({"python:a", "python:b"})


def lease(store, owner, at=0, length=LEASE, kinds=HTTP):
    store.store.clock.time = (NOW + at) / 1000
    return store.lease(owner, kinds, length)


def owners(fleet):
    return [member.owner for member in fleet.members]


def shards(fleet, owner):
    return frozenset().union(*(share.shards for share in shares(owner, fleet.members)))


def test_lease_alone_has_every_shard(store):
    assert shards(lease(store, "w1"), "w1") == ALL_SHARDS
    assert shards(lease(store, "w1", 10), "w1") == ALL_SHARDS


def test_lease_of_two_divides_the_shards(store):
    lease(store, "w1")
    fleet = lease(store, "w2", 1)
    first, second = shards(fleet, "w1"), shards(fleet, "w2")
    assert first | second == ALL_SHARDS
    assert not first & second
    assert len(first) == len(second)


def test_lease_that_ended_is_forgotten(store):
    lease(store, "w1")
    lease(store, "w2", 500)
    assert owners(lease(store, "w2", LEASE - 1)) == ["w1", "w2"]
    assert owners(lease(store, "w2", LEASE)) == ["w2"]


def test_lease_released_is_forgotten_at_once(store):
    lease(store, "w1")
    assert owners(lease(store, "w1", 1, 0)) == []
    assert owners(lease(store, "w2", 1)) == ["w2"]


def test_lease_renewed_keeps_the_time_of_joining(store):
    lease(store, "w1")
    lease(store, "w1", 600)
    assert lease(store, "w1", 1_200).members == (Member("w1", NOW, HTTP),)
    assert lease(store, "w1", 9_000).members == (Member("w1", NOW + 9_000, HTTP),)


def test_lease_keeps_the_version_of_the_tz_database(store):
    store.lease("w1", HTTP, LEASE, "2025b")
    assert [(m.owner, m.tz) for m in store.lease("w2", HTTP, LEASE, "2026f").members] == [
        ("w1", "2025b"),
        ("w2", "2026f"),
    ]
    assert {m.tz for m in store.lease("w1", HTTP, LEASE, "2026f").members} == {"2026f"}


def test_lease_after_the_clock_was_set_back_ends_within_its_length(store):
    """An hour: w1 died, w2 lives on by the clock of now."""
    lease(store, "w1", 3_600_000)
    assert owners(lease(store, "w2")) == ["w1", "w2"]
    assert owners(lease(store, "w2", LEASE - 1)) == ["w1", "w2"]
    assert owners(lease(store, "w2", LEASE)) == ["w2"]


def test_lease_is_dated_when_it_is_written(store, clock):
    """Whatever time a worker read before it stood still, it takes nothing from those who registered meanwhile."""
    lease(store, "w1", 60_000)
    assert owners(store.lease("w2", HTTP, LEASE)) == ["w1", "w2"]
    assert clock.time * 1000 == NOW + 60_000
    assert owners(lease(store, "w2", 60_000 + LEASE - 1)) == ["w1", "w2"]


def test_downtime_of_the_first_worker_is_all_time_before(store):
    assert lease(store, "w1").downtimes == dict.fromkeys(HTTP, Downtime(-EVER, NOW))


def test_downtime_stays_while_somebody_lives(store):
    lease(store, "w1")
    lease(store, "w2", 900)
    fleet = lease(store, "w3", LEASE + 500)  # w1 is dead, and w2 has lived without a break
    assert fleet.downtimes == dict.fromkeys(HTTP, Downtime(-EVER, NOW))


def test_downtime_of_the_whole_fleet_is_from_the_last_sign_of_life(store):
    lease(store, "w1")
    lease(store, "w1", 700)
    assert lease(store, "w2", 5_000).downtimes == dict.fromkeys(HTTP, Downtime(NOW + 700, NOW + 5_000))


def test_downtime_begins_with_a_clean_stop(store):
    lease(store, "w1")
    lease(store, "w1", 400, 0)
    assert lease(store, "w2", 500).downtimes == dict.fromkeys(HTTP, Downtime(NOW + 400, NOW + 500))


@pytest.mark.parametrize("stop", [None, 300])
def test_downtime_goes_on_if_a_worker_was_back_for_a_moment(store, stop):
    """It was killed, or stopped, before it can have gone through what fell due in the meantime."""
    lease(store, "w1")
    lease(store, "w1", 700, 0)
    lease(store, "w2", 5_000)
    if stop is not None:
        lease(store, "w2", 5_000 + stop, 0)
    assert lease(store, "w3", 9_000).downtimes == dict.fromkeys(HTTP, Downtime(NOW + 700, NOW + 9_000))


def test_downtime_is_of_each_kind(store):
    lease(store, "w1")
    lease(store, "a1", kinds=JOBS)
    lease(store, "a1", 400, 0, kinds=JOBS)
    lease(store, "w1", 900)
    fleet = lease(store, "a2", 1_500, kinds=JOBS | HTTP)
    assert fleet.downtimes == {
        **dict.fromkeys(JOBS, Downtime(NOW + 400, NOW + 1_500)),
        **dict.fromkeys(HTTP, Downtime(-EVER, NOW)),
    }


def test_downtime_is_shown_with_the_schedule(store):
    from tests.stores.making import a_case, define

    define(store, a_case())
    store.lease("w1", frozenset({"test"}), LEASE)
    (case,) = store.get(["a"])
    assert case.downtime == Downtime(-EVER, NOW)


def test_shares_are_among_those_who_can_launch_the_kind():
    members = (Member("w1", 0, HTTP), Member("w2", 0, HTTP), Member("a1", 0, JOBS), Member("both", 0, JOBS | HTTP))
    assert {share.kinds for share in shares("both", members)} == {JOBS, HTTP}
    for kinds, able in ((HTTP, ["w1", "w2", "both"]), (JOBS, ["a1", "both"])):
        found = [share.shards for owner in able for share in shares(owner, members) if share.kinds == kinds]
        assert len(found) == len(able)
        assert sum(map(len, found)) == SHARDS
        assert frozenset().union(*found) == ALL_SHARDS


@settings(deadline=None)
@given(st.integers(1, 80))
def test_shares_differ_by_at_most_one_shard(count):
    members = tuple(f"w{n}" for n in range(count))
    sizes = [len(shards_for(member, members)) for member in members]
    assert sum(sizes) == SHARDS
    assert max(sizes) - min(sizes) <= 1


def test_shares_change_little_when_one_of_eight_goes():
    members = tuple(f"w{n}" for n in range(8))
    moved = sum(len(shards_for(member, members[1:]) - shards_for(member, members)) for member in members[1:])
    assert moved <= SHARDS // 3  # eight of them had to


def test_leader_is_the_one_that_has_lived_for_longest():
    members = (Member("a", 7, HTTP), Member("b", 3, HTTP), Member("c", 1, JOBS))
    assert leader(members, HTTP) == "b"
    assert leader(members[:1], HTTP) == "a"


steps = st.lists(
    st.tuples(st.sampled_from(["w1", "w2", "w3"]), st.integers(0, 700), st.sampled_from([0, 400, LEASE])), max_size=40
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_shares_of_the_living_cover_every_shard_once(store, clock, steps):
    clock.advance(3_600)  # all of the example before are dead
    at = int(clock.time * 1000) - NOW
    for owner, passed, length in steps:
        at += passed
        fleet = lease(store, owner, at, length)
        found = [shards(fleet, member.owner) for member in fleet.members]
        assert sum(map(len, found)) == (SHARDS if found else 0)
        assert frozenset().union(*found) == (ALL_SHARDS if found else frozenset())
