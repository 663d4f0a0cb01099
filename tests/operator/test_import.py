"""`kron import cronjobs`: KronJobs that run when the CronJobs do, with notes where they do not."""

import json
from itertools import islice
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kron.apps.cli import main
from kron.apps.operator import objects
from kron.apps.operator.cronjob import ImportOptions, convert
from kron.apps.operator.definition import OperatorDefaults, job_of_kronjob
from kron.apps.operator.objects import read_objects
from kron.apps.operator.yaml_text import to_yaml
from kron.errors import KronError
from kron.kube.kind import place_of
from kron.timing.period import nominals
from kron.timing.zone import instant_of, zone
from tests.kube.conftest import server  # noqa: F401
from tests.kube.server import Fault
from tests.kube.test_config import in_file, kubeconfig
from tests.operator.robfig import next_times
from tests.operator.specs import TEMPLATE
from tests.operator.test_definition import JSON, SPEC_SCHEMA
from tests.operator.validation import problems

EXAMPLE = Path(__file__).parents[2] / "examples" / "cronjobs.yaml"
NOW = instant_of("2026-03-01T00:00:00Z")
AT = ["--at", "2026-03-01T00:00:00Z"]


def cronjob(name="report", namespace="shop", metadata=None, **spec):
    spec = {"schedule": "0 3 * * *", "timeZone": "UTC", "startingDeadlineSeconds": 60, "jobTemplate": TEMPLATE, **spec}
    metadata = {"name": name, "namespace": namespace, **(metadata or {})}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec}


def converted(body=None, **options):
    (conversion,) = convert([body or cronjob()], ImportOptions(NOW, **options))
    return conversion


def spec_of(changes, **options):
    conversion = converted(cronjob(**changes), **options)
    assert conversion.error is None
    return conversion.kronjob["spec"]


def times(conversion, after, count):
    """The next times of the written KronJob, as the operator reads it."""
    body = yaml.safe_load(to_yaml(conversion.kronjob))
    schedule = job_of_kronjob(place_of(body), body["spec"], OperatorDefaults()).schedule
    return list(islice(nominals(schedule, after, after + 40 * 366 * 86_400), count))


def element(low, high, names=()):
    value = st.integers(low, high).map(str) | (st.sampled_from(names) if names else st.nothing())
    ordered = st.tuples(st.integers(low, high), st.integers(low, high)).map(sorted)
    ranges = ordered.map(lambda pair: f"{pair[0]}-{pair[1]}")
    base = value | ranges | st.sampled_from(["*", "?"])
    return base | st.tuples(base, st.integers(1, 40)).map(lambda pair: f"{pair[0]}/{pair[1]}")


def field(low, high, names=()):
    one = element(low, high, names)
    return st.just("*") | one | st.lists(one, min_size=2, max_size=3).map(",".join)


SCHEDULES = st.tuples(
    field(0, 59), field(0, 23), field(1, 31), field(1, 12, ("JAN", "feb", "Dec")), field(0, 6, ("SUN", "mon", "Sat"))
).map(" ".join)
ZONES = st.sampled_from(
    [
        *("UTC", "Europe/Paris", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "Asia/Beirut"),
        *("America/Nuuk", "Atlantic/Azores", "America/Havana", "America/Santiago", "Africa/Casablanca"),
        *("Asia/Kolkata", "Antarctica/Troll"),
    ]
)
STARTS = st.integers(0, 4 * 366 * 86_400).map(lambda seconds: NOW + seconds)
NEAR = st.tuples(st.integers(0, 7), st.integers(-3 * 86_400, 86_400))  # a clock change, and seconds from it


def near_change(zone_name, number, distance):
    shifts = list(zone(zone_name).shifts(NOW, NOW + 4 * 366 * 86_400))
    return shifts[number % len(shifts)].at + distance if shifts else NOW


@settings(max_examples=60)
@given(SCHEDULES, ZONES, NEAR | STARTS)
@example("30 2 * * *", "Europe/Paris", (0, -86_400))
@example("0 */3 * * *", "Africa/Casablanca", (1, -86_400))
@example("*/7 * * * *", "Australia/Lord_Howe", (0, -3_600))
@example("15 1,2 * * *", "America/New_York", (1, -7_200))
@example("0 0 */2 * 1", "UTC", NOW)
@example("0 0 1-31/1,? * 1", "UTC", NOW)
def test_times_without_a_note_are_those_of_the_cronjob(text, zone_name, start):
    """Also around clock changes: what the controller does differently there has a note."""
    after = near_change(zone_name, *start) if isinstance(start, tuple) else start
    conversion = converted(cronjob(schedule=text, timeZone=zone_name))
    if conversion.error:
        assert conversion.error.code == "NEVER"
    elif not conversion.notes:
        expected = next_times(text, zone_name, after, 8)
        assert times(conversion, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("text", "zone_name", "start"),
    [
        ("0 5 * * SAT", "Africa/Cairo", "2026-04-20T00:00:00Z"),
        ("0 3 * * *", "Australia/Lord_Howe", "2026-10-02T00:00:00Z"),
        ("0 12 * * SUN", "Atlantic/Azores", "2026-03-27T00:00:00Z"),
    ],
)
def test_clock_change_that_the_controller_handles_otherwise_has_a_note(text, zone_name, start):
    conversion = converted(cronjob(schedule=text, timeZone=zone_name))
    assert any(zone_name in note for note in conversion.notes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 3 * * ?", "0 3 * * *"),
        ("@hourly", "0 * * * *"),
        ("*/5 * * * 1-5", "*/5 * * * 1-5"),
        ("5/20 * * * *", "5-45/20 * * * *"),
        ("0 0 */1 * MON", "0 0 * * MON"),
        ("1,,2 0 * * *", "1,2 0 * * *"),
    ],
)
def test_schedule_is_kept_as_written_if_it_means_the_same(text, expected):
    assert spec_of({"schedule": text})["schedule"] == expected


@pytest.mark.parametrize(
    ("text", "zone_name", "expected"),
    [
        ("@every 30m", "Europe/Paris", "*/30 * * * *"),
        ("@every 2h", "UTC", "0 */2 * * *"),
        ("@every 2h", "Europe/Paris", "plus: every 2h from 1970-01-01T00:00Z"),
        ("@every 90m", "UTC", "plus: every 1h30m from 1970-01-01T00:00Z"),
    ],
)
def test_interval_is_proposed_with_a_note(text, zone_name, expected):
    conversion = converted(cronjob(schedule=text, timeZone=zone_name))
    assert conversion.kronjob["spec"]["schedule"] == expected
    assert "creation of the CronJob" in conversion.notes[0]


def test_zone_of_the_text_the_field_or_the_cluster():
    assert spec_of({"schedule": "TZ=Asia/Tokyo 0 3 * * *", "timeZone": None})["timezone"] == "Asia/Tokyo"
    assert spec_of({"schedule": "CRON_TZ=Asia/Tokyo  0 3 * * *", "timeZone": None})["schedule"] == "0 3 * * *"
    assert spec_of({"timeZone": "Asia/Tokyo"}, cluster_zone="Europe/Paris")["timezone"] == "Asia/Tokyo"
    assert spec_of({"timeZone": None}, cluster_zone="Europe/Paris")["timezone"] == "Europe/Paris"
    assert converted(cronjob(timeZone=None), cluster_zone="Europe/Paris").notes == ()
    unknown = converted(cronjob(timeZone=None))
    assert "timezone" not in unknown.kronjob["spec"]
    assert "--cluster-zone" in unknown.notes[0]


def test_policy_does_what_the_cronjob_does():
    policy = spec_of({})["policy"]
    assert policy == {"concurrency": "allow", "deadline": "1m", "catchup": "latest"}
    assert spec_of({"concurrencyPolicy": "Replace"})["policy"]["concurrency"] == "replace"
    assert spec_of({"concurrencyPolicy": "Forbid"})["policy"]["concurrency"] == "coalesce"
    assert spec_of({"suspend": True})["policy"]["suspend"] is True
    strict = converted(cronjob(concurrencyPolicy="Forbid"), strict_forbid=True)
    assert strict.kronjob["spec"]["policy"]["concurrency"] == "forbid"
    assert "forbid skips it" in strict.notes[0]


def test_cronjob_without_a_deadline_gets_a_day_and_a_note():
    conversion = converted(cronjob(startingDeadlineSeconds=None))
    assert conversion.kronjob["spec"]["policy"]["deadline"] == "24h"
    assert "startingDeadlineSeconds is not set" in conversion.notes[0]


def test_template_labels_and_annotations_are_kept():
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"brandNew": [1, None, "a\u0085b"], **TEMPLATE["spec"]}}
    annotations = {"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    metadata = {"labels": {"team": "a"}, "annotations": annotations, "uid": "1", "managedFields": []}
    kronjob = converted(cronjob(metadata=metadata, jobTemplate=template, successfulJobsHistoryLimit=0)).kronjob
    assert kronjob["metadata"] == {
        "name": "report",
        "namespace": "shop",
        "labels": {"team": "a"},
        "annotations": {"note": "x"},
    }
    assert kronjob["spec"]["jobTemplate"] == template
    assert kronjob["spec"]["successfulJobsHistoryLimit"] == 0
    assert yaml.safe_load(to_yaml(kronjob)) == kronjob
    assert problems(SPEC_SCHEMA, kronjob["spec"]) == []


def test_what_others_manage_and_what_is_unknown_is_noted():
    owner = {"kind": "Report", "name": "daily", "apiVersion": "example/v1"}
    metadata = {"ownerReferences": [owner], "annotations": {"meta.helm.sh/release-name": "shop"}}
    conversion = converted(cronjob(metadata=metadata, failedJobsHistoryLimit=2_000, brandNew=1))
    assert conversion.kronjob["spec"]["failedJobsHistoryLimit"] == 1_000
    notes = " ".join(conversion.notes)
    assert all(word in notes for word in ("Report daily", "Helm release shop", "failedJobsHistoryLimit", "brandNew"))


def test_windows_spread_the_load():
    daily = spec_of({}, by_windows=True)
    assert (daily["schedule"], daily["window"]) == ("0 3 * * *", {"mode": "around", "duration": "2h"})
    hourly = spec_of({"schedule": "@hourly"}, by_windows=True)
    assert (hourly["schedule"], hourly["window"]) == ("5 * * * *", {"mode": "after", "duration": "49m"})
    assert "window" not in spec_of({"schedule": "*/5 * * * *"}, by_windows=True)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"schedule": "0 2 * * *", "timeZone": "Europe/Paris"}, "DST_GAP"),
        ({"schedule": "* * * * *", "startingDeadlineSeconds": None}, "MANY_MISSED"),
        ({"startingDeadlineSeconds": 5}, "SHORT_DEADLINE"),
    ],
)
def test_what_is_rarely_intended_is_a_warning(changes, code):
    assert code in [each.code for each in converted(cronjob(**changes)).findings]
    assert converted().findings == ()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"schedule": "0 3 * * 7"}, "OUT_OF_RANGE"),
        ({"schedule": "0 3 * *"}, "FIELD_COUNT"),
        ({"schedule": "@dayly"}, "MACRO"),
        ({"schedule": "5-1 * * * *"}, "REVERSED_RANGE"),
        ({"schedule": "5- * * * *"}, "OPEN_RANGE"),
        ({"schedule": ", * * * *"}, "EMPTY_ELEMENT"),
        ({"schedule": "@every soon"}, "BAD_DURATION"),
        ({"schedule": None}, "MISSING_FIELD"),
        ({"timeZone": "Mars/Base"}, "UNKNOWN_ZONE"),
        ({"schedule": "TZ=UTC 0 3 * * *"}, "BAD_FIELD"),
        ({"concurrencyPolicy": "Maybe"}, "BAD_FIELD"),
        ({"startingDeadlineSeconds": -1}, "BAD_FIELD"),
        ({"jobTemplate": None}, "MISSING_FIELD"),
    ],
)
def test_cronjob_that_cannot_be_imported_says_why(changes, code):
    error = converted(cronjob(**changes)).error
    assert (error.code, bool(error.hint)) == (code, True)


@pytest.mark.parametrize("metadata", [{"name": "../x"}, {"namespace": "a/b"}, {"name": ""}, {"name": "A"}])
def test_name_that_is_not_of_kubernetes_is_refused(metadata):
    """It would be the name of a file, too."""
    assert converted(cronjob(metadata=metadata)).error.code in ("BAD_FIELD", "MISSING_FIELD")


def test_second_cronjob_of_a_name_is_refused():
    first, second = convert([cronjob(), cronjob()], ImportOptions(NOW))
    assert (first.error, second.error.code) == (None, "EXISTS")


@given(st.dictionaries(st.sampled_from([*cronjob()["spec"], "suspend", "concurrencyPolicy"]), JSON, max_size=3), JSON)
def test_any_object_is_converted_or_refused(changes, metadata):
    (conversion,) = convert([{**cronjob(**changes), "metadata": metadata}], ImportOptions(NOW))
    assert conversion.error is None or isinstance(conversion.error, KronError)
    converted(cronjob(**changes))


def test_objects_are_read_as_kubernetes_reads_them():
    text = "kind: A\ntime: 2026-01-01\nclock: 12:30\nmode: 0400\n1: a\n---\n---\nkind: List\nitems: [{kind: B}]\n"
    first, second = read_objects(text, "f")
    assert first == {"kind": "A", "time": "2026-01-01", "clock": "12:30", "mode": 256, "1": "a"}
    assert second == {"kind": "B"}
    listed = {"kind": "CronJobList", "apiVersion": "batch/v1", "items": [{"metadata": {}}]}
    assert next(read_objects(json.dumps(listed), "f"))["kind"] == "CronJob"


@pytest.mark.parametrize(
    "text",
    ["a: [", "- 1", "kind: A\nx: &x [*x]", "kind: CronJobList\nitems: [1]", "[" * 5_000, "\x00"],
    ids=["open", "list", "circular", "item", "deep", "nul"],
)
def test_file_that_is_no_manifest_is_refused(text):
    with pytest.raises(KronError) as caught:
        list(read_objects(text, "some.yaml"))
    assert caught.value.code == "BAD_FILE"
    assert "some.yaml" in caught.value.message


def test_aliases_that_grow_are_refused(monkeypatch):
    monkeypatch.setattr(objects, "MAX_JSON_LENGTH", 10_000)
    lines = ["kind: A", "a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(KronError, match="too large"):
        list(read_objects("\n".join(lines), "f"))


def ran(capsys, *words):
    """What the command prints, and its status."""
    status = main(["import", "cronjobs", *words, *AT])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_example_becomes_kronjobs_with_notes(capsys):
    status, out, err = ran(capsys, "-f", str(EXAMPLE))
    names = [body["metadata"]["name"] for body in yaml.safe_load_all(out)]
    assert (status, names) == (0, ["report", "cleanup", "sync"])
    assert "# CronJob billing/report: 30 2 * * MON-FRI, Europe/Paris\n" in out
    assert out.count("# note: ") == 4
    assert err.startswith("3 CronJobs imported, 2 with notes, 0 with warnings, 0 not imported\n")
    assert "busiest minute: 1 (2026-03-01T00:00:00Z) as CronJobs, " in err


def test_folder_gets_a_file_per_kronjob_and_none_is_replaced(capsys, tmp_path):
    folder = tmp_path / "out"
    assert ran(capsys, "-f", str(EXAMPLE), "-o", str(folder), "--by", "windows")[:2] == (0, "")
    names = ["billing.cleanup.yaml", "billing.report.yaml", "shop.sync.yaml"]
    assert sorted(path.name for path in folder.iterdir()) == names
    report = yaml.safe_load((folder / "billing.report.yaml").read_text())
    assert report["spec"]["window"] == {"mode": "around", "duration": "2h"}
    (folder / "billing.cleanup.yaml").unlink()
    status, _, err = ran(capsys, "-f", str(EXAMPLE), "-o", str(folder))
    assert (status, "EXISTS" in err, (folder / "billing.cleanup.yaml").exists()) == (1, True, False)


def test_json_has_a_line_per_cronjob_and_the_load(capsys):
    status, out, _ = ran(capsys, "-f", str(EXAMPLE), "-o", "json")
    *rows, load = map(json.loads, out.splitlines())
    assert (status, [row["status"] for row in rows]) == (0, ["imported"] * 3)
    assert rows[0]["kronjob"]["kind"] == "KronJob"
    assert (load["status"], load["before"]["runs"]) == ("load", 12)  # without the suspended CronJob


def test_invalid_cronjob_stops_the_import_unless_told_to_go_on(capsys, tmp_path):
    path = tmp_path / "two.json"
    objects = [cronjob(), cronjob("bad", schedule="0 3 * * 7"), {"kind": "Service", "apiVersion": "v1"}]
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
    status, out, err = ran(capsys, "-f", str(path))
    assert (status, out) == (1, "")
    assert "CronJob shop/bad:" in err
    assert "OUT_OF_RANGE" in err
    assert "1 CronJob imported, 0 with notes, 0 with warnings, 1 not imported, 1 other object ignored" in err
    status, out, _ = ran(capsys, "-f", str(path), "--keep-going")
    assert (status, yaml.safe_load(out)["metadata"]["name"]) == (0, "report")
    _, out, _ = ran(capsys, "-f", str(path), "-o", "json")
    assert json.loads(out.splitlines()[1])["error"]["code"] == "OUT_OF_RANGE"


def test_namespace_is_given_to_objects_without_one(capsys, tmp_path):
    path = tmp_path / "one.json"
    path.write_text(json.dumps(cronjob(namespace=None)))
    assert "namespace" not in yaml.safe_load(ran(capsys, "-f", str(path))[1])["metadata"]
    assert yaml.safe_load(ran(capsys, "-f", str(path), "-n", "eu")[1])["metadata"]["namespace"] == "eu"


@pytest.fixture
def cluster(server, tmp_path, monkeypatch):  # noqa: F811
    in_file(tmp_path, monkeypatch, kubeconfig(server.url))
    for namespace, name in (("shop", "a"), ("shop", "b"), ("eu", "c")):
        body = {key: value for key, value in cronjob().items() if key in ("metadata", "spec")}
        server.put("cronjobs", namespace, name, body)
    return server


SELECTIONS = {"kubeconfig": ([], ["a", "b"]), "n": (["-n", "eu"], ["c"]), "A": (["-A"], ["c", "a", "b"])}


@pytest.mark.parametrize(("words", "names"), SELECTIONS.values(), ids=SELECTIONS)
def test_cronjobs_of_a_cluster_are_read_and_not_changed(cluster, capsys, words, names):
    status, out, _ = ran(capsys, *words)
    assert (status, [body["metadata"]["name"] for body in yaml.safe_load_all(out)]) == (0, names)
    assert {method for method, _, _ in cluster.requests} == {"LIST"}


def test_old_server_is_asked_for_the_old_version(cluster, capsys):
    cluster.fail("LIST", "cronjobs", Fault(404, reason="NotFound"))
    assert ran(capsys)[0] == 0
    assert cluster.requests[-1][1] == "/apis/batch/v1beta1/namespaces/shop/cronjobs"


@pytest.mark.parametrize(("status", "code"), [(403, "FORBIDDEN"), (500, "BAD_REQUEST")])
def test_refusal_of_the_cluster_is_an_error(cluster, capsys, status, code):
    cluster.fail("LIST", "cronjobs", Fault(status, reason="Any"))
    exit_status, out, err = ran(capsys)
    assert (exit_status, out, code in err) == (1, "", True)


def test_wrong_words_are_usage_errors(capsys):
    assert ran(capsys, "-A", "-f", str(EXAMPLE))[0] == 2
    for words in (["import", "cronjobs", "--zone", "UTC"], ["import"]):
        with pytest.raises(SystemExit):
            main(words)
