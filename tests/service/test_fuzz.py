"""Whatever comes over the wire, the answer is a problem or a result: never a failure, and never a silence."""

import json
import os
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.service.http import serving, workflow
from tests.service.test_tenants import BODIES, DEFINITION, ROUTES, body_of, filled

ODD = [
    "",
    "\x00",
    "\ud800",
    "\u2028",
    "ü" * 50,
    "a" * 3000,
    "../..",
    "%00",
    "{0.__class__}",
    "%s%n",
    "\n{}",
    "1e309",
    "*/0 * * * *",
    "0 0 31 2 *",
    "L * * * *",
    "2026-02-30T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999+14:00",
    "Europe/Berlin\n",
    "https://[::1]/",
    "https://a:b@c/",
    "workflow:",
]
WORDS = st.sampled_from(ODD) | st.text(max_size=20)
NUMBERS = st.sampled_from([0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400]) | st.integers() | st.floats()
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
GOOD = [each for each in BODIES.values() if each] + [DEFINITION, workflow()]


@st.composite
def bodies(draw):
    """A body that is nearly right, or not at all."""
    body = dict(draw(st.sampled_from(GOOD)))
    for name in draw(st.lists(st.sampled_from([*body, "surprise", "note", "until", "end_at"]), max_size=3)):
        body[name] = draw(VALUES)
    whole = draw(st.sampled_from([body, body, body, draw(VALUES)]))
    return json.dumps(whole).encode()


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    more = {
        "workflow_store": str(folder / "w"),
        "executor_url": "http://127.0.0.1:9/",
        "max_triggers_per_minute": 10**6,
    }
    store = os.environ.get("KRON_FUZZ_STORE", f"sqlite:{folder}/kron.db")
    with serving(store=store, **more) as service:
        service.put("/v1/schedules/own", DEFINITION)
        yield service


SLOW = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))


@SLOW
@given(route=st.sampled_from([each for each in ROUTES if each[0] != "GET"]), body=bodies(), raw=st.binary(max_size=40))
def test_bodies(fuzzed, route, body, raw):
    method, path, _ = route
    for sent in (body, raw):
        reply = fuzzed.call(method, filled(path), sent, Content_Type="application/json")
        assert reply.status < 500, (method, path, sent, reply.body)
        reply.body.decode()


@SLOW
@given(
    route=st.sampled_from([each for each in ROUTES if each[1] != "/v1/events"]),  # which goes on and on
    name=WORDS,
    query=st.dictionaries(
        st.sampled_from(["n", "limit", "until", "at", "page_token", "prefix", "paused", "note"]), WORDS
    ),
    header=st.sampled_from(["If-Match", "If-None-Match", "Idempotency-Key", "Content-Type"]),
    value=st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=30),
)
def test_names_parameters_and_headers(fuzzed, route, name, query, header, value):
    method, path, _ = route
    text = "&".join(f"{key}={quote(word.encode('utf-8', 'surrogatepass'))}" for key, word in query.items())
    word = quote(name.encode("utf-8", "surrogatepass"), safe="")
    where = filled(path, schedule_id=word or "x", key=word or "x", workflow_id=word or "x", version="1")
    body = body_of(method, path)
    reply = fuzzed.call(method, f"{where}?{text}", body, **{header.replace("-", "_"): value.strip()})
    assert reply.status < 500, (method, where, text, header, value, reply.body)
    reply.body.decode()
