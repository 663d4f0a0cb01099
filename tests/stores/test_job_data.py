"""Every store keeps the payload, the labels and the webhook options of a definition, and finds schedules by labels."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from kron.engine.registrar import Actor, Registrar
from kron.errors import InvalidInput
from kron.timing.job import Webhook
from kron.timing.labels import MAX_LABELS, labels_of, selector_of
from kron.timing.payload import MAX_DEPTH, MAX_PAYLOAD_BYTES, payload_text
from tests.stores.making import a_job, now

PAYLOADS = [None, {"user": 42, "text": "grüße\0"}, [], "text", 0, False, {"z": 1, "a": {"b": [None, 1.5]}}]
WEBHOOK = Webhook("PUT", (("X-Team", "a b"),), "200-299,409")


def put(store, job):
    return store.runner.run(Registrar(store.store).upsert(job, Actor("me")))


def delete(store, name):
    return store.runner.run(Registrar(store.store).delete(name, Actor("me")))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payload_comes_back_with_its_revision(store, payload):
    job = replace(a_job(), payload=payload_text(payload))
    put(store, job)
    assert now(store).job == job
    assert json.loads(now(store).job.payload) == payload
    put(store, replace(job, payload=payload_text({"other": 1})))
    assert [revision.job.payload for revision in store.revisions("a")] == [job.payload, '{"other":1}']


def test_webhook_options_and_labels_come_back(store):
    job = replace(a_job(), webhook=WEBHOOK, labels=labels_of({"team": "billing", "a/b.c": "", "plan": "größe=1"}))
    put(store, job)
    assert now(store).job == job
    assert now(store).job.labels == (("a/b.c", ""), ("plan", "größe=1"), ("team", "billing"))
    (revision,) = store.revisions("a")
    assert revision.job == job


def test_the_same_definition_is_no_new_revision(store):
    job = replace(a_job(), payload="1", labels=labels_of({"team": "x"}), webhook=WEBHOOK)
    put(store, job)
    put(store, job)
    assert len(store.revisions("a")) == 1


def test_schedules_are_found_by_their_labels(store):
    for number in range(12):
        labels = {"half": str(number % 2), "third": str(number % 3)}
        put(store, replace(a_job(f"{'ab'[number % 4 // 2]}{number:02}"), labels=labels_of(labels)))
    put(store, a_job("none"))
    even = ["a00", "a04", "a08", "b02", "b06", "b10"]
    assert store.identities("", 100, labels=["half=0"]) == even
    assert store.identities("a04", 2, labels=["half=0"]) == ["a08", "b02"]
    assert store.identities("", 100, "b", labels=["half=0"]) == ["b02", "b06", "b10"]
    assert store.identities("", 100, labels=["half=0", "third=0"]) == ["a00", "b06"]
    assert store.identities("", 100, labels=["third=0", "half=0"]) == ["a00", "b06"]
    assert store.identities("", 100, labels=["half=0", "third=7"]) == []
    assert store.identities("", 100, labels=["half"]) == []
    assert len(store.identities("", 100)) == 13


def test_labels_follow_the_latest_definition(store):
    job = replace(a_job(), labels=labels_of({"team": "x", "plan": "free"}))
    put(store, job)
    put(store, replace(job, labels=labels_of({"team": "y"})))
    found = {label: store.identities("", 9, labels=[label]) for label in ("team=x", "team=y", "plan=free")}
    assert found == {"team=x": [], "team=y": ["a"], "plan=free": []}
    put(store, a_job())
    assert store.identities("", 9, labels=["team=y"]) == []
    put(store, job)
    delete(store, "a")
    assert store.identities("", 9, labels=["team=x"]) == []
    assert store.identities("", 9, deleted=True, labels=["team=x"]) == ["a"]


def test_registrar_checks_a_selector(store):
    put(store, replace(a_job(), labels=labels_of({"team": "x"})))
    registrar = Registrar(store.store)
    (state,) = store.runner.run(registrar.schedules(labels=["team=x"]))
    assert state.identity == "a"
    with pytest.raises(InvalidInput, match="has no value"):
        store.runner.run(registrar.schedules(labels=["team"]))


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_views_of_a_file_show_payload_and_labels(store):
    put(store, replace(a_job(), payload='{"user":42}', labels=labels_of({"team": "x"})))
    with closing(sqlite3.connect(store.store.file.path)) as connection:
        rows = connection.execute("SELECT payload, labels FROM service_schedules").fetchall()
    assert rows == [('{"user":42}', '{"team":"x"}')]


# checks


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({1, 2}, "not JSON"),
        (float("nan"), "not JSON"),
        ({1: "a"}, "does not come back equal"),
        ({"a": (1, 2)}, "does not come back equal"),
        ("\ud800", "surrogate"),
        ("x" * MAX_PAYLOAD_BYTES, "65,538 bytes"),
        (json.loads("[" * 500 + "]" * 500), f"deeper than {MAX_DEPTH} levels"),
    ],
)
def test_what_is_no_payload_is_refused(value, reason):
    with pytest.raises(InvalidInput, match=reason) as caught:
        payload_text(value)
    assert caught.value.details["field"] == "payload"
    assert caught.value.hint


def test_largest_payload_is_accepted():
    assert len(payload_text("x" * (MAX_PAYLOAD_BYTES - 2)).encode()) == MAX_PAYLOAD_BYTES


def test_value_that_contains_itself_is_refused():
    circle = []
    circle.append(circle)
    with pytest.raises(InvalidInput, match="deeper"):
        payload_text(circle)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ({"": "a"}, "'' is not a valid key"),
        ({"-a": "a"}, "'-a' is not a valid key"),
        ({"a=b": "a"}, "'a=b' is not a valid key"),
        ({"ä": "a"}, "is not a valid key"),
        ({"a" * 64: "a"}, "is not a valid key"),
        ({"a": 5}, "the value of 'a' is not a text"),
        ({"a": "x" * 256}, "too long"),
        ({"a": "x\n"}, "not printable"),
        ({str(number): "" for number in range(MAX_LABELS + 1)}, "33 labels are more than 32"),
    ],
)
def test_what_is_no_label_is_refused(labels, reason):
    with pytest.raises(InvalidInput, match=reason) as caught:
        labels_of(labels)
    assert caught.value.hint


def test_selector_is_a_key_and_a_value():
    assert selector_of("team=a=b") == "team=a=b"
    for text in ("team", "=x", "a b=x"):
        with pytest.raises(InvalidInput):
            selector_of(text)
