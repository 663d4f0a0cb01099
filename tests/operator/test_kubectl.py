"""`kubectl kron`: answers from the status and the spec, and requests by annotations."""

import json

import pytest

from kron.apps.kubectl.main import main
from kron.apps.operator.definition import OperatorDefaults, job_of_kronjob
from kron.apps.operator.yaml_text import to_documents
from kron.kube.kind import Place
from kron.kube.names import PAUSE, RUN
from kron.language.record import record_of
from kron.timing.period import Period
from kron.timing.zone import instant_of
from tests.kube.conftest import server  # noqa: F401
from tests.kube.server import Fault
from tests.kube.test_config import in_file, kubeconfig
from tests.operator.specs import TEMPLATE

AT = ["--at", "2026-03-01T00:00:00Z"]
SPEC = {"schedule": "0 3 * * *", "jobTemplate": TEMPLATE}
WINDOW = {**SPEC, "window": {"mode": "after", "duration": "2h"}}
LAST = "2026-02-28T03:00:00Z"


def decision(spec, prefix=""):
    job = job_of_kronjob(Place("shop", "report"), spec, OperatorDefaults(prefix))
    return record_of(job, Period(instant_of(LAST)))


STATUS = {
    "active": 0,
    "nextRun": "2026-03-01T03:00:00Z",
    "lastNominalTime": LAST,
    "lastChosenTime": LAST,
    "lastOutcome": "skipped",
    "lastReason": "overlap",
    "lastDecision": json.dumps(decision(SPEC)),
    "conditions": [{"type": "Ready", "status": "True", "reason": "Scheduled"}],
    "recent": [
        {"periodID": LAST, "chosen": LAST, "outcome": "skipped", "reason": "overlap"},
        {"periodID": "2026-02-27T03:00:00Z", "outcome": "executed", "job": "report-3f9a0c1b22", "end": "success"},
    ],
}


@pytest.fixture
def cluster(server, tmp_path, monkeypatch):  # noqa: F811
    in_file(tmp_path, monkeypatch, kubeconfig(server.url))
    server.put("kronjobs", "shop", "report", {"spec": SPEC, "status": STATUS})
    server.put("kronjobs", "eu", "sync", {"spec": {**SPEC, "schedule": "0 1 * * *", "policy": {"suspend": True}}})
    return server


def ran(capsys, *words):
    """What the command prints, and its status."""
    status = main([*words])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def annotations(cluster, namespace="shop", name="report"):
    return cluster.of("kronjobs")[namespace, name]["metadata"].get("annotations", {})


def test_get_lists_outcomes_and_next_runs(cluster, capsys):
    status, out, _ = ran(capsys, "get")
    (row,) = out.splitlines()[1:]
    assert status == 0
    words = "report  0 3 * * * False 0 2026-02-28T03:00:00Z skipped overlap - 2026-03-01T03:00:00Z"
    assert row.split() == words.split()
    rows = ran(capsys, "get", "-A")[1].splitlines()[1:]
    assert [row.split()[:2] for row in rows] == [["eu", "sync"], ["shop", "report"]]
    assert rows[0].split()[7] == "True"
    assert [body["metadata"]["name"] for body in json.loads(ran(capsys, "get", "-A", "-o", "json")[1])] == [
        "sync",
        "report",
    ]
    assert "no KronJobs" in ran(capsys, "get", "-n", "none")[2]


def test_next_is_computed_from_the_spec(cluster, capsys):
    status, out, _ = ran(capsys, "next", "report", "--count", "2", *AT)
    assert (status, [line.split()[-2] for line in out.splitlines()[1:]]) == (
        0,
        ["2026-03-01T03:00:00Z", "2026-03-02T03:00:00Z"],
    )
    status, out, err = ran(capsys, "next", "-A", *AT)
    assert (status, out.count("shop/report"), err) == (0, 5, "eu/sync: suspended\n")
    assert ran(capsys, "next", "sync", "-n", "eu", *AT)[0] == 1


def test_next_uses_the_identity_of_the_last_decision(cluster, capsys):
    """The times in a window depend on the prefix of the identity, which only the operator knows."""

    def chosen(*words):
        return json.loads(ran(capsys, "next", "report", "-o", "json", *words, *AT)[1])[0]["chosen_time"]

    cluster.put("kronjobs", "shop", "report", {"spec": WINDOW})
    plain, prefixed = chosen(), chosen("--identity-prefix", "east/")
    cluster.put(
        "kronjobs",
        "shop",
        "report",
        {"spec": WINDOW, "status": {"lastDecision": json.dumps(decision(WINDOW, "east/"))}},
    )
    assert plain != prefixed == chosen()


def test_next_keeps_start_and_end(cluster, capsys):
    spec = {**SPEC, "startTime": "2026-03-02T03:00:00Z", "endTime": "2026-03-04T03:00:00Z"}
    cluster.put("kronjobs", "shop", "report", {"spec": spec})
    out = ran(capsys, "next", "report", *AT)[1]
    assert [line.split()[-2] for line in out.splitlines()[1:]] == ["2026-03-03T03:00:00Z", "2026-03-04T03:00:00Z"]


def test_invalid_kronjob_is_an_error_or_a_note(cluster, capsys):
    cluster.put("kronjobs", "shop", "bad", {"spec": {**SPEC, "schedule": "0 25 * * *"}})
    assert "OUT_OF_RANGE" in ran(capsys, "next", "bad")[2]
    status, _, err = ran(capsys, "next")
    assert (status, "shop/bad: invalid spec" in err) == (0, True)


def test_why_tells_outcome_reason_and_conditions(cluster, capsys):
    status, out, _ = ran(capsys, "why", "report")
    assert status == 0
    assert out.splitlines() == [
        "KronJob shop/report",
        f"period    {LAST}",
        "outcome   skipped (overlap)",
        "reason    Another run of the schedule was waiting or active.",
        f"chosen    {LAST}",
        "decision  verified: its text gives the same time here",
        "next      2026-03-01T03:00:00Z",
        "Ready     True (Scheduled)",
    ]
    out = ran(capsys, "why", "report", "2026-02-27T03:00:00Z")[1]
    assert "outcome   executed\njob       report-3f9a0c1b22\nend       success\n" in out
    shown = json.loads(ran(capsys, "why", "report", "-o", "json")[1])
    assert shown["period"]["reason"] == "overlap"
    assert shown["explanation"].startswith("Another run")


def test_why_of_a_period_without_a_run_is_that_of_the_last_fields(cluster, capsys):
    missed = {"lastNominalTime": "2026-03-01T03:00:00Z", "lastOutcome": "missed", "lastReason": "deadline"}
    cluster.put("kronjobs", "shop", "report", {"spec": SPEC, "status": {**STATUS, **missed}})
    out = ran(capsys, "why", "report")[1]
    assert "period    2026-03-01T03:00:00Z\noutcome   missed (deadline)\n" in out


def test_why_says_what_it_does_not_know(cluster, capsys):
    assert "has not handled a period yet" in ran(capsys, "why", "sync", "-n", "eu")[1]
    status, _, err = ran(capsys, "why", "report", "2026-01-01T03:00:00Z")
    assert (status, LAST in err) == (1, True)
    status, _, err = ran(capsys, "why", "other")
    assert (status, "no KronJob shop/other" in err) == (1, True)


def manifest(tmp_path, *bodies):
    path = tmp_path / "kronjobs.yaml"
    path.write_text(to_documents(bodies))
    return ["plan", "-f", str(path), *AT]


def kronjob(name="report", namespace="shop", **changes):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "kron.io/v1alpha1", "kind": "KronJob", "metadata": metadata, "spec": {**SPEC, **changes}}


def test_plan_shows_what_a_file_would_change(cluster, capsys, tmp_path):
    words = manifest(tmp_path, kronjob(), kronjob("new", ""), kronjob("sync", "eu"), {"kind": "A", "apiVersion": "v1"})
    status, out, _ = ran(capsys, *words)
    assert (status, [line.split() for line in out.splitlines()[1:]]) == (
        0,
        [
            ["shop/report", "none", "2026-03-01T03:00:00Z", "2026-03-01T03:00:00Z"],
            ["shop/new", "new", "-", "2026-03-01T03:00:00Z"],
            ["eu/sync", "schedule", "-", "2026-03-01T03:00:00Z"],
        ],
    )
    words = manifest(tmp_path, kronjob(jobTemplate={"spec": {}}), kronjob("bad", schedule="0 25 * * *"))
    status, out, _ = ran(capsys, *words, "-o", "json")
    template, bad = json.loads(out)
    assert (status, template["change"], bad["change"], bad["error"]["code"]) == (
        1,
        "template",
        "invalid",
        "OUT_OF_RANGE",
    )
    assert "KronJob shop/bad:" in ran(capsys, *words)[2]
    assert {method for method, _, _ in cluster.requests} == {"GET"}


def test_plan_works_without_a_cluster(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    status, out, _ = ran(capsys, *manifest(tmp_path, kronjob("new", "")), "--offline")
    assert (status, out.splitlines()[1].split()[:2]) == (0, ["default/new", "new"])
    status, _, err = ran(capsys, *manifest(tmp_path, kronjob()))
    assert (status, "NO_CLUSTER" in err) == (1, True)


def test_pause_and_resume_write_the_annotation(cluster, capsys):
    words = ["pause", "report", "--note", "disk is full", "--who", "ann", "--until", "2999-03-01T00:00:00+01:00"]
    assert ran(capsys, *words)[:2] == (0, "KronJob shop/report: pause requested until 2999-02-28T23:00:00Z\n")
    expected = {"note": "disk is full", "who": "ann", "until": "2999-02-28T23:00:00Z"}
    assert json.loads(annotations(cluster)[PAUSE]) == expected
    assert cluster.of("kronjobs")["shop", "report"]["spec"] == SPEC
    assert ran(capsys, "resume", "report")[0] == 0
    assert annotations(cluster) == {}
    assert {kind for kind, _ in cluster.bodies if kind} == {"application/merge-patch+json"}


def test_run_writes_a_request(cluster, capsys):
    assert ran(capsys, "run", "sync", "-n", "eu", "--request", "release-42")[0] == 0
    assert annotations(cluster, "eu", "sync") == {RUN: "release-42"}
    ran(capsys, "run", "sync", "-n", "eu")
    assert annotations(cluster, "eu", "sync")[RUN].startswith("kubectl-")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["pause", "report", "--until", "2020-01-01T00:00:00Z"], 2),
        (["pause", "report", "--until", "soon"], 2),
        (["run", "report", "--request", " "], 2),
        (["get", "-A", "-n", "shop"], 2),
        (["next", "report", "-A"], 2),
        (["resume", "other"], 1),
        (["plan", "-f", "/none"], 1),
    ],
)
def test_wrong_words_change_nothing(cluster, capsys, words, status):
    assert ran(capsys, *words)[0] == status
    assert cluster.count("PATCH", "") == 0


def test_refusal_of_the_cluster_is_an_error(cluster, capsys):
    cluster.fail("PATCH", "kronjobs", Fault(403, reason="Forbidden"))
    status, _, err = ran(capsys, "pause", "report")
    assert (status, "FORBIDDEN" in err) == (1, True)


STUCK = {"type": "Degraded", "status": "True", "reason": "JobStuck", "message": "Job report-1 has no ready pod."}
READY = {"type": "Ready", "status": "True", "reason": "Scheduled", "message": ""}


def test_status_lists_what_is_wrong_and_exits_with_1(cluster, capsys):
    invalid = {"type": "Ready", "status": "False", "reason": "InvalidSpec", "message": "unknown zone\n  at x"}
    for name, conditions in (("bad", [invalid]), ("good", [READY]), ("stuck", [READY, STUCK])):
        status = {"conditions": conditions, "observedGeneration": 1, "lastOutcome": "executed", "active": 1}
        cluster.put("kronjobs", "jobs", name, {"spec": SPEC, "status": status}, generation=1)
    cluster.put("kronjobs", "jobs", "unseen", {"spec": SPEC}, generation=2)
    status, out, _ = ran(capsys, "status", "-n", "jobs")
    lines = out.splitlines()
    assert status == 1
    assert lines[:3] == [
        "4 KronJobs: 3 with problems, 0 suspended or paused",
        "active Jobs: 3",
        "last outcomes: executed 3, none 1",
    ]
    assert [line.split()[:2] for line in lines[5:]] == [
        ["jobs/bad", "InvalidSpec"],
        ["jobs/stuck", "JobStuck"],
        ["jobs/unseen", "NotSeen"],
    ]
    status, out, _ = ran(capsys, "status", "-n", "jobs", "-o", "json")
    assert (status, len(json.loads(out)["problems"])) == (1, 3)


def test_status_of_one_kronjob_shows_conditions_and_periods(cluster, capsys):
    recent = [{"periodID": LAST, "outcome": "executed", "end": "failed", "job": "good-1"}]
    status = {"conditions": [READY], "observedGeneration": 1, "recent": recent, "nextRun": LAST}
    cluster.put("kronjobs", "jobs", "good", {"spec": SPEC, "status": status}, generation=1)
    code, out, err = ran(capsys, "status", "good", "-n", "jobs")
    assert (code, err) == (0, "")
    assert "Ready      True    Scheduled" in out
    assert f"{LAST}  executed  -       failed  good-1" in out
    assert out.splitlines()[-1] == f"next run: {LAST}"
    assert ran(capsys, "status", "none", "-n", "jobs")[0] == 1
    assert ran(capsys, "status", "good", "-A")[0] == 2


def test_import_is_that_of_kron(cluster, capsys):
    status, _, err = ran(capsys, "import", "-n", "none")
    assert (status, "no CronJobs found" in err) == (1, True)
    assert ran(capsys, "import", "--switch", "report")[0] == 2


@pytest.mark.parametrize(
    "words",
    [
        ["get"],
        ["status"],
        ["next", "report"],
        ["why", "report"],
        ["pause", "report"],
        ["resume", "report"],
        ["run", "report"],
        ["import"],
    ],
)
def test_context_that_the_kubeconfig_does_not_have_is_refused(cluster, capsys, words):
    status, _, err = ran(capsys, *words, "--context", "nowhere")
    assert (status, "no context 'nowhere'" in err) == (1, True)
    assert not cluster.requests
