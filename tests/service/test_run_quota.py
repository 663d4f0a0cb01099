"""Quota of manual runs: whatever the requests are, no tenant starts more runs than the quota allows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kron.apps.service.auth.caller import Caller
from kron.apps.service.config import Config
from kron.apps.service.quota import Quotas
from kron.engine.clock import SystemClock
from kron.errors import InvalidInput, QuotaExceeded
from kron.stores.memory import MemoryStore
from tests.service import tokens
from tests.service.http import serving
from tests.service.test_bulk_actions import client_of, dead_letter, define

ACME = Caller("acme", "", frozenset())


class Stopwatch:
    """A timer that a test moves on."""

    def __init__(self):
        self.seconds = 0.0

    def monotonic(self):
        return self.seconds


def quotas(rate, timer):
    return Quotas(MemoryStore(SystemClock()), timer, Config(max_triggers_per_minute=rate))


@settings(deadline=None)
@given(st.integers(1, 20), st.lists(st.tuples(st.integers(0, 90), st.integers(1, 45)), max_size=20))
def test_runs_that_start_are_never_more_than_the_quota_of_the_time(rate, requests):
    timer, started = Stopwatch(), []
    quota = quotas(rate, timer)
    for pause, starts in requests:
        timer.seconds += pause
        try:
            quota.spend(ACME, starts)
        except QuotaExceeded as error:
            timer.seconds += error.details["retry_after"]
            quota.spend(ACME, starts)  # the time to wait is enough
        except InvalidInput:
            assert starts > rate
            continue
        started.append((timer.seconds, starts))
    for first, (begin, _) in enumerate(started):
        for end, _ in started[first:]:
            count = sum(starts for at, starts in started if begin <= at <= end)
            assert count <= rate + (end - begin) * rate / 60 + 1e-6


def test_batch_has_no_more_runs_than_the_quota_of_a_minute():
    assert quotas(5, Stopwatch()).batch_size(500) == 5
    assert quotas(600, Stopwatch()).batch_size(500) == 500


def runs_of(service, count):
    acme = service.bearing(tokens.token("acme"))
    return sum(len(acme.get(f"/v1/schedules/s{n:04d}/runs").json["runs"]) for n in range(count))


def test_batch_of_everything_that_matches_is_cut_and_the_next_one_waits(tmp_path):
    with serving(**tokens.settings(tmp_path), max_triggers_per_minute=5) as service:
        acme = service.bearing(tokens.token("acme"))
        define(client_of(service), 12)
        first = acme.post("/v1/schedules:trigger", {"filter": {}}).json
        assert (first["done"], first["next_page_token"]) == (5, "s0004")
        reply = acme.post("/v1/schedules:trigger", {"filter": {}, "page_token": "s0004"})
        assert (reply.status, reply.json["code"]) == (429, "QUOTA")
        assert 50 < int(reply.headers["retry-after"]) <= 61, "until the whole batch fits"
        assert runs_of(service, 12) == 5


def test_selected_ones_above_the_quota_of_a_minute_are_refused(tmp_path):
    with serving(**tokens.settings(tmp_path), max_triggers_per_minute=5) as service:
        acme = service.bearing(tokens.token("acme"))
        define(client_of(service), 6)
        reply = acme.post("/v1/schedules:trigger", {"ids": [f"s{n:04d}" for n in range(6)]})
        assert (reply.status, reply.json["code"]) == (422, "TOO_MANY")
        assert reply.json["hint"] == "request at most 5 runs at once"
        keys = [dead_letter(service, f"acme/s{n:04d}") for n in range(6)]
        assert acme.post("/v1/dead-letters:redrive", {"keys": keys}).status == 422
        assert acme.post("/v1/dead-letters:redrive", {"filter": {}}).json["done"] == 5
        assert runs_of(service, 6) == 6 + 5
        assert acme.post("/v1/schedules/s0000/trigger").status == 429
