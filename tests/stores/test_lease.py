"""Who looks at which shard: everything is looked at by somebody, and by nobody twice at once."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kron.store import SHARDS, share_of
from tests.stores.making import ALL, NOW

LEASE = 1_000


def test_one_alone_looks_at_everything(store):
    assert store.lease("w1", NOW, NOW + LEASE) == ALL
    assert store.lease("w1", NOW + 10, NOW + 10 + LEASE) == ALL


def test_who_joins_gets_a_share_when_the_other_lets_go(store):
    assert store.lease("w1", NOW, NOW + LEASE) == ALL
    assert store.lease("w2", NOW + 1, NOW + 1 + LEASE) == frozenset()
    first = store.lease("w1", NOW + 2, NOW + 2 + LEASE)
    second = store.lease("w2", NOW + 3, NOW + 3 + LEASE)
    assert first | second == ALL
    assert not first & second
    assert min(len(first), len(second)) > SHARDS // 8


def test_the_share_of_the_dead_is_taken_over_when_its_time_is_over(store):
    store.lease("w1", NOW, NOW + LEASE)
    store.lease("w2", NOW, NOW + LEASE)
    first = store.lease("w1", NOW + 1, NOW + 1 + LEASE)
    second = store.lease("w2", NOW + 2, NOW + 2 + LEASE)
    over = NOW + 1 + LEASE
    assert store.lease("w2", over - 1, over - 1 + LEASE) == second
    assert store.lease("w2", over, over + LEASE) == ALL
    assert store.lease("w1", over + 1, over + 1 + LEASE) == frozenset()  # it lives again, and waits its turn
    assert store.lease("w2", over + 2, over + 2 + LEASE) == second
    assert store.lease("w1", over + 3, over + 3 + LEASE) == first


def test_who_leaves_in_peace_is_not_waited_for(store):
    store.lease("w1", NOW, NOW + LEASE)
    store.lease("w1", NOW + 1, NOW + 1)
    assert store.lease("w2", NOW + 1, NOW + 1 + LEASE) == ALL


def test_a_clock_that_was_set_back_keeps_the_shards_of_the_dead_for_one_lease_at_most(store):
    """An hour: w1 died, w2 lives on by the clock of now."""
    ahead = NOW + 3_600_000
    store.lease("w1", ahead, ahead + LEASE)
    store.lease("w2", NOW, NOW + LEASE)
    held = store.lease("w2", NOW + LEASE - 1, NOW + 2 * LEASE - 1)
    assert held < ALL  # nobody knows yet that w1 is dead
    assert store.lease("w2", NOW + LEASE, NOW + 2 * LEASE) == ALL
    assert store.lease("w3", NOW + LEASE, NOW + 2 * LEASE) == frozenset()


def test_a_clock_that_was_set_back_robs_nobody(store):
    ahead = NOW + 3_600_000
    store.lease("w1", ahead, ahead + LEASE)
    store.lease("w2", ahead, ahead + LEASE)
    store.lease("w1", ahead + 1, ahead + 1 + LEASE)
    before = store.lease("w2", ahead + 1, ahead + 1 + LEASE)
    assert store.lease("w2", NOW, NOW + LEASE) == before
    assert store.lease("w1", NOW + 1, NOW + 1 + LEASE) == ALL - before


def test_a_new_life_is_somebody_else(store):
    assert store.lease("w1/1", NOW, NOW + LEASE) == ALL
    assert store.lease("w1/2", NOW, NOW + LEASE) == frozenset()
    assert store.lease("w1/2", NOW + LEASE, NOW + 2 * LEASE) == ALL


def test_few_move_when_one_of_many_goes(store):
    """A shard changes hands only if its holder is gone, or if it falls to the one who came."""
    members = tuple(f"w{n}" for n in range(8))
    before = {member: share_of(member, members) for member in members}
    after = {member: share_of(member, members[1:]) for member in members[1:]}
    assert frozenset().union(*before.values()) == frozenset().union(*after.values()) == ALL
    assert all(before[member] <= after[member] for member in members[1:])


steps = st.lists(
    st.tuples(st.sampled_from(["w1", "w2", "w3"]), st.integers(0, 700), st.sampled_from([0, 400, LEASE])), max_size=40
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_no_shard_is_held_by_two_at_once_and_in_the_end_each_is_by_one(store, clock, steps):
    clock.advance(3_600)  # all of the example before are dead
    at, held = int(clock.time * 1000), dict[str, tuple[int, frozenset[int]]]()
    for owner, passed, lease in steps:
        at += passed
        held[owner] = at + lease, store.lease(owner, at, at + lease)
        living = [shards for until, shards in held.values() if until > at]
        assert sum(map(len, living)) == len(frozenset().union(*living))
    for owner in ("w1", "w2", "w3") * 2:
        at += LEASE // 4
        store.lease(owner, at, at + LEASE)
    found = [store.lease(owner, at, at + LEASE) for owner in ("w1", "w2", "w3")]
    assert sum(map(len, found)) == SHARDS
    assert frozenset().union(*found) == ALL
