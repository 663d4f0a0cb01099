"""Schedules of the plus dialect over HTTP: defined, read, previewed and run."""

import pytest

from tests.forms import FORMS


@pytest.mark.parametrize("form", FORMS)
def test_schedule_of_the_plus_dialect_is_kept_as_written(plain, form):
    definition = {"dialect": "plus", "timezone": form.zone, "workflow_id": "w", "version": 1, "user_id": "u"}
    reply = plain.put("/v1/schedules/a", {"schedule": form.text, **definition})
    assert reply.status == 200, reply.json
    row = plain.get("/v1/schedules/a").json
    assert (row["schedule"], row["dialect"], row["timezone"]) == (form.text, "plus", form.zone)
    assert row["canonical"] == form.canonical
    preview = plain.post("/v1/preview", {"definition": {**definition, "schedule": f"plus: {form.text}"}})
    assert preview.status == 200, preview.json
    assert plain.get("/v1/schedules/a/upcoming").status == 200


def test_moment_in_the_past_is_warned_about(plain):
    definition = {"dialect": "plus", "workflow_id": "w", "version": 1, "user_id": "u"}
    reply = plain.put("/v1/schedules/a", {"schedule": "at 2020-12-01T09:00", **definition})
    assert reply.json["warnings"] == ["the schedule never runs: its last period has passed"]
