"""Schedules of the plus dialect over HTTP: defined, read, previewed and run."""

import pytest

TEXTS = [
    ("0 9 L * *", "0 9 L * *"),
    ("0 9 * * TUE#2 @tz(Europe/Paris)", "0 9 * * TUE#2 @tz(Europe/Paris)"),
    ("0 9 * * MON @days(every=2w,from=2026-01-05)", "0 9 * * MON @days(every=2w,from=2026-01-05)"),
    ("30 2 * * * @tz(Europe/Paris) @dst(once)", "30 2 * * * @tz(Europe/Paris) @dst(once)"),
    ("at 2036-12-01T09:00", "at 2036-12-01T09:00"),
    ("every 90m from 2026-01-01T00:00", "every 1h30m from 2026-01-01T00:00"),
    ("0 6 * * * @valid(from=2026-01-01T00:00,until=2036-01-01T00:00)",) * 2,
]


@pytest.mark.parametrize(("text", "canonical"), TEXTS)
def test_schedule_of_the_plus_dialect_is_kept_as_written(plain, text, canonical):
    definition = {"dialect": "plus", "workflow_id": "w", "version": 1, "user_id": "u"}
    reply = plain.put("/v1/schedules/a", {"schedule": text, **definition})
    assert reply.status == 200, reply.json
    row = plain.get("/v1/schedules/a").json
    assert (row["schedule"], row["dialect"], row["canonical"]) == (text, "plus", canonical)
    preview = plain.post("/v1/preview", {"definition": {**definition, "schedule": f"plus: {text}"}})
    assert preview.status == 200, preview.json
    assert plain.get("/v1/schedules/a/upcoming").status == 200


def test_moment_in_the_past_is_warned_about(plain):
    definition = {"dialect": "plus", "workflow_id": "w", "version": 1, "user_id": "u"}
    reply = plain.put("/v1/schedules/a", {"schedule": "at 2020-12-01T09:00", **definition})
    assert reply.json["warnings"] == ["the schedule never runs: its last period has passed"]
