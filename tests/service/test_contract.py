"""The interface as it is written down holds, whatever is sent: a few hundred of the cases of `make schemathesis`."""

import pytest

from tests.campaigns.contract import examine, flaws, served


@pytest.mark.slow
def test_whatever_is_sent_the_answer_is_one_that_the_interface_says(database, tmp_path):
    with served(database, tmp_path) as url:
        report, words = examine(url, tmp_path, 8, 1, phases="fuzzing,stateful")
    assert not flaws(report), words
    assert report["test_cases"]["generated"] > 200


def test_a_method_that_a_path_has_not_is_answered_with_those_that_it_has(plain):
    reply = plain.call("PUT", "/schedules/pause", {})
    assert (reply.status, reply.headers["allow"]) == (405, "POST")
    reply = plain.call("OPTIONS", "/v1/schedules/x")
    assert (reply.status, reply.headers["allow"]) == (405, "DELETE, GET, PATCH, PUT")


def test_bytes_that_are_no_text_are_answered_as_text_that_is_no_json(plain):
    for body in (b"\xff\xfe\xfd", b"{"):
        reply = plain.put("/v1/schedules/x", body, Content_Type="application/json")
        assert (reply.status, reply.json["code"]) == (422, "INVALID")
