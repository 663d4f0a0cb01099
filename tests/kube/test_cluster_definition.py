"""The definition of KronJobs on a real API server: its schema and rules mean the same to the server and to Kron."""

import shutil
import subprocess
from random import Random

import pytest
from hypothesis import assume, given, settings

from kron.apps.operator.definition import OperatorDefaults, fields_of, job_of_kronjob
from kron.apps.operator.schema import MAX_WINDOW
from kron.errors import KronError
from kron.kube.kind import KRONJOB, Place
from kron.language.canonical import unparse
from kron.language.duration import read_duration
from kron.language.manifest import define
from tests.kube.agreement import disagreement, random_spec
from tests.kube.cluster.objects import asked, kronjob
from tests.kube.cluster.release import RULES_SINCE
from tests.kube.conftest import KRON
from tests.language import texts
from tests.language.asking import kron
from tests.operator.specs import BAD, GOOD, LONG_LINE, OPERATOR, RULE, spec_of
from tests.operator.test_definition import LONG_FIELDS, SPEC_SCHEMA, spec_of_schedule

pytestmark = pytest.mark.slow
PLACE = Place("default", "report")
needs_kubectl = pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")


def checked(cluster, spec, name="report"):
    """The answer to a KronJob that is only checked."""
    return cluster.request("POST", f"{KRONJOB.path('default')}?dryRun=All", kronjob(name, spec))


def needs_rules(cluster):
    """Skip a test on an API server that does not know the rules in CEL."""
    if cluster.release.minor < RULES_SINCE:
        pytest.skip(f"Kubernetes {cluster.release.version} has no rules in CEL")


def is_refused_for_an_empty_text(cluster, answer):
    """Whether an old API server takes an empty text for none, and refuses that."""
    is_old = cluster.release.minor < RULES_SINCE
    return is_old and answer.status_code == 422 and 'must be of type string: \\"null\\"' in answer.text


def defined(spec):
    return job_of_kronjob(PLACE, spec, OperatorDefaults())


@pytest.mark.parametrize("changes", GOOD.values(), ids=GOOD)
def test_good_spec_is_accepted(cluster, changes):
    answer = checked(cluster, spec_of(changes))
    if is_refused_for_an_empty_text(cluster, answer):
        pytest.skip(f"Kubernetes {cluster.release.version} refuses empty texts")
    assert answer.status_code == 201, answer.text
    assert defined(answer.json()["spec"]) == defined(spec_of(changes)), "a default of the schema changed the schedule"


@pytest.mark.req("KSYN-SCOPE-CRD")
@settings(max_examples=100)
@given(schedule=texts.schedules)
def test_any_schedule_passes_through_the_server_unchanged(cluster, schedule):
    """The fields that the server gives back mean the schedule that its line means."""
    assume(schedule.window.duration <= read_duration(MAX_WINDOW))
    spec = spec_of_schedule(schedule)
    answer = checked(cluster, spec)
    assume(not is_refused_for_an_empty_text(cluster, answer))
    assert answer.status_code == 201, answer.text
    received = define({"identity": "a", **fields_of(answer.json()["spec"])}).schedule
    assert received == schedule == kron(unparse(schedule))


@pytest.mark.req("KSYN-SCOPE-CRD")
def test_line_and_fields_that_the_server_gives_back_are_one_schedule(cluster):
    line, fields = (
        checked(cluster, spec_of(changes)).json()["spec"] for changes in ({"schedule": LONG_LINE}, LONG_FIELDS)
    )
    assert defined(line).schedule == defined(fields).schedule
    assert define({"identity": "a", **fields_of(fields)}).schedule == kron(line["schedule"])


@pytest.mark.parametrize(("who", "changes", "code"), BAD.values(), ids=BAD)
def test_bad_spec_is_refused_by_whom_the_table_says(cluster, who, changes, code):
    """The message of a rule is that of the operator."""
    answer = checked(cluster, spec_of(changes))
    is_old = cluster.release.minor < RULES_SINCE
    assert answer.status_code == (201 if who == OPERATOR or (who == RULE and is_old) else 422), answer.text
    if who == RULE and not is_old:
        with pytest.raises(KronError) as caught:
            defined(spec_of(changes))
        messages = [rule["message"] for rule in SPEC_SCHEMA["x-kubernetes-validations"]]
        (message,) = {each for each in messages if each in caught.value.message}
        assert message in answer.json()["message"]


@pytest.mark.parametrize(("length", "status"), [(52, 201), (53, 422)])
def test_name_leaves_room_for_the_names_of_jobs(cluster, length, status):
    needs_rules(cluster)
    assert checked(cluster, spec_of({}), "n" * length).status_code == status


@pytest.mark.parametrize("seed", range(3))
def test_server_and_operator_agree_on_random_specs(cluster, seed):
    needs_rules(cluster)
    random = Random(seed)
    specs = [random_spec(random) for _ in range(100)]
    assert [text for spec in specs if (text := disagreement(cluster, spec))] == []


@needs_kubectl
def test_definition_is_applied_without_warnings(cluster):
    needs_rules(cluster)
    text = subprocess.run([KRON, "operator", "crd"], capture_output=True, text=True, timeout=60, check=True).stdout
    words = ["kubectl", "--kubeconfig", str(cluster.kubeconfig), "apply", "--server-side", "--force-conflicts"]
    done = subprocess.run([*words, "-f", "-"], input=text, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@needs_kubectl
def test_kubectl_shows_the_columns(cluster, namespace):
    body = kronjob("report", spec_of({"timezone": "Europe/Paris", "policy": {"suspend": True}}))
    cluster.do("POST", KRONJOB.path(namespace), body)
    status = {
        "active": 1,
        "lastChosenTime": "2026-03-01T00:00:00Z",
        "lastOutcome": "skipped",
        "lastReason": "overlap",
        "lastEnd": "success",
        "nextRun": "2099-03-01T00:00:00Z",
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    asked(cluster, lambda api: api.patch_status(KRONJOB, Place(namespace, "report"), status))
    short, wide = (
        [line.split() for line in cluster.kubectl("get", "kj", "-n", namespace, *words).splitlines()]
        for words in ((), ("-o", "wide"))
    )
    assert " ".join(short[0]) == "NAME SCHEDULE SUSPEND ACTIVE LAST OUTCOME END NEXT AGE"
    assert short[1][:8] == ["report", "0", "3", "*", "*", "*", "true", "1"]
    assert short[1][9:12] == ["skipped", "success", "2099-03-01T00:00:00Z"]
    assert " ".join(wide[0]) == "NAME SCHEDULE TZ SUSPEND ACTIVE LAST OUTCOME REASON END NEXT READY AGE"
    assert {"Europe/Paris", "overlap", "True"} <= set(wide[1])
    assert "kronjob.kron.io/report" in cluster.kubectl("get", "all", "-n", namespace, "-o", "name")
