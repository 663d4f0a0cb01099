"""The text of a schedule over HTTP: what was written is what is shown, and putting it again changes nothing."""

import pytest

from tests.service.http import serving, workflow

HOOK = "https://example.org/"
FIELDS = ("schedule", "dialect", "timezone", "target", "description", "start_at", "end_at")
BODIES = [
    ({"schedule": "0 9 * * 1-5", "timezone": "Europe/Paris"}, "0 9 * * MON-FRI @tz(Europe/Paris)"),
    ({"schedule": "*/5  9 * * 7"}, "*/5 9 * * SUN"),
    ({"schedule": "30 0 9 * * *", "timezone": "Asia/Tokyo"}, "30 0 9 * * *"),
    ({"schedule": "0 9 * * 1-5", "dialect": "posix", "timezone": "Asia/Tokyo"}, "0 9 * * MON-FRI @tz(Asia/Tokyo)"),
    ({"schedule": "0 9 * * mon @tz(Europe/Paris)", "dialect": "kron"}, "0 9 * * MON @tz(Europe/Paris)"),
    ({"schedule": "0 9 * * * @win(after,90m)", "dialect": "kron", "timezone": "Asia/Tokyo"}, None),
    ({"schedule": "daily around 14:00", "dialect": "fuzzy"}, None),
]


def patched(service, name, body):
    return service.call("PATCH", f"/v1/schedules/{name}", body)


@pytest.mark.parametrize("number", range(len(BODIES)))
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_what_is_read_is_what_was_put_and_can_be_put_again(tmp_path, plain, kind, number):
    body, canonical = BODIES[number]
    if kind == "memory":
        _check_read_and_put(plain, f"g{number}", body, canonical)
        return
    with serving(store=f"sqlite:{tmp_path}/kron.db") as service:
        _check_read_and_put(service, "g", body, canonical)


def _check_read_and_put(service, name, body, canonical):
    made = service.put(f"/v1/schedules/{name}", {**body, "target": HOOK}).json
    shown = service.get(f"/v1/schedules/{name}").json
    assert shown == made
    assert (shown["schedule"], shown["dialect"]) == (body["schedule"], body.get("dialect", "service"))
    zone = None if "@tz" in body["schedule"] else body.get("timezone", "UTC")
    assert shown["timezone"] == zone
    assert canonical is None or shown["canonical"] == canonical
    again = service.put(f"/v1/schedules/{name}", {field: shown[field] for field in FIELDS})
    assert (again.status, again.json["revision"]) == (200, 1)
    (row,) = service.get(f"/v1/schedules?prefix={name}&limit=1").json["schedules"]
    assert row == shown
    described = patched(service, name, {"description": "x"}).json
    assert described["revision"] == 2
    same = ("schedule", "dialect", "timezone", "canonical", "summary", "next_run_at")
    assert {field: described[field] for field in same} == {field: shown[field] for field in same}


def test_another_spelling_is_a_revision_and_the_history_shows_each(plain):
    texts = ["0 9 * * 1-5", "0 9 * * MON-FRI", "0 9 * * mon-fri"]
    for number, text in enumerate(texts, 1):
        body = {"schedule": text, "timezone": "Europe/Paris", "target": HOOK}
        assert plain.put("/v1/schedules/h", body).json["revision"] == number
        assert plain.put("/v1/schedules/h", body).json["revision"] == number
    changes = plain.get("/v1/schedules/h/history").json["changes"]
    assert [(each["schedule"], each["dialect"], each["timezone"]) for each in changes] == [
        (text, "service", "Europe/Paris") for text in texts
    ]
    assert {each["canonical"] for each in changes} == {"0 9 * * MON-FRI @tz(Europe/Paris)"}


def test_time_zone_of_a_text_that_names_one_cannot_be_patched(plain):
    plain.put("/v1/schedules/z", {"schedule": "0 9 * * * @tz(Europe/Paris)", "dialect": "kron", "target": HOOK})
    refused = patched(plain, "z", {"timezone": "Asia/Tokyo"})
    assert (refused.status, refused.json["code"]) == (422, "BAD_FIELD")
    moved = patched(plain, "z", {"schedule": "0 9 * * *", "timezone": "Asia/Tokyo"}).json
    assert (moved["dialect"], moved["canonical"]) == ("kron", "0 9 * * * @tz(Asia/Tokyo)")


def test_salt_that_looks_like_a_time_zone_is_none(plain):
    body = {"schedule": '0 9 * * * @win(after,1h) @seed(stable,salt="@tz")', "dialect": "kron", "target": HOOK}
    made = plain.put("/v1/schedules/salt", {**body, "timezone": "Asia/Tokyo"})
    assert (made.status, made.json["timezone"]) == (200, "Asia/Tokyo")


@pytest.mark.parametrize("positions", [("last", "first"), ("first", "last")])
def test_moved_seconds_change_neither_times_nor_revision(tmp_path, positions):
    """The setting that says where the seconds are changes while schedules are stored."""
    before, after = positions
    texts = {"last": "0  9 * * 1 15", "first": "15  0 9 * * 1"}
    store = f"sqlite:{tmp_path}/kron.db"
    with serving(store=store, cron_seconds_position=before) as service:
        made = service.put("/v1/schedules/s", {"schedule": texts[before], "target": HOOK}).json
        assert made["schedule"] == texts[before]
    with serving(store=store, cron_seconds_position=after) as service:
        shown = service.get("/v1/schedules/s").json
        assert shown["schedule"].split() == texts[after].split()
        assert (shown["summary"], shown["canonical"]) == (made["summary"], made["canonical"])
        again = {name: shown[name] for name in FIELDS}
        assert service.put("/v1/schedules/s", again).json["revision"] == 1
        assert patched(service, "s", {"description": "x"}).json["summary"] == made["summary"]
    with serving(store=store, cron_seconds_position=before) as service:
        assert service.get("/v1/schedules/s").json["schedule"] == made["schedule"]


def test_cron_expr_of_the_specification_is_the_text_or_the_line_of_a_sentence(plain):
    plain.post("/schedules/upsert", workflow(schedule_id="c1", cron_expr="0 9 * * 1-5", timezone="Europe/Paris"))
    row = plain.get("/schedules/c1").json
    assert (row["cron_expr"], row["timezone"]) == ("0 9 * * 1-5", "Europe/Paris")
    made = plain.put("/v1/schedules/c2", {"schedule": "daily around 14:00", "dialect": "fuzzy", "target": HOOK}).json
    row = plain.get("/schedules/c2").json
    assert (row["cron_expr"], row["timezone"]) == (made["canonical"], "UTC")
    for text, shown in {
        "0 9 * * 1-5  @tz(Europe/Paris)": "0 9 * * 1-5",
        "0 9 * * 1-5 @tz(Europe/Paris) @win(after,1h)": "0 9 * * 1-5 @tz(Europe/Paris) @win(after,1h)",
    }.items():
        plain.put("/v1/schedules/c3", {"schedule": text, "dialect": "kron", "target": HOOK})
        row = plain.get("/schedules/c3").json
        assert (row["cron_expr"], row["timezone"]) == (shown, "Europe/Paris")


def test_explanation_has_both_texts(plain):
    plain.put("/v1/schedules/w", {"schedule": "0 9 * * 1-5", "timezone": "Europe/Paris", "target": HOOK})
    first, *_ = plain.get("/v1/schedules/w/why").json["explanation"]
    assert "0 9 * * 1-5 (canonical: 0 9 * * MON-FRI @tz(Europe/Paris))" in first


def test_patch_of_the_schedule_keeps_dialect_and_time_zone(plain):
    plain.put("/v1/schedules/p1", {"schedule": "0 9 * * * @tz(Europe/Paris)", "dialect": "kron", "target": HOOK})
    shown = patched(plain, "p1", {"schedule": "0 10 * * * @win(after,30m)"}).json
    assert (shown["dialect"], shown["timezone"]) == ("kron", "Europe/Paris")
    shown = patched(plain, "p1", {"schedule": "0 11 * * *", "timezone": "Asia/Tokyo"}).json
    assert (shown["dialect"], shown["timezone"]) == ("kron", "Asia/Tokyo")
    plain.put("/v1/schedules/p2", {"schedule": "daily around 14:00", "dialect": "fuzzy", "target": HOOK})
    assert patched(plain, "p2", {"schedule": "daily around 15:00"}).json["dialect"] == "fuzzy"
