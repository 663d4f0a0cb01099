"""Rights of the operator: its calls on a real API server are allowed by the generated role, and use all of it."""

import pytest

from kron.apps.operator.installation import NAME
from kron.apps.operator.rbac import operator_rules
from kron.kube.kind import JOB
from tests.kube.cluster.audit_log import ADMISSION, recorded_calls, rights_of
from tests.kube.cluster.objects import job
from tests.kube.cluster.operator_process import OperatorProcess
from tests.kube.cluster.pods import ending_pods, template
from tests.kube.cluster.rights import PATHS, create_once, remove_cluster_rights, token_of, user_of
from tests.kube.test_operator_e2e import World

pytestmark = pytest.mark.slow
RIGHTS = rights_of(operator_rules()) - ADMISSION
REQUESTS = {(resource, verb) for resource, verb in RIGHTS if verb != "watch"}  # 1.20 records watches at the end


def calls_of(cluster, namespace, account=NAME):
    """The requests of a service account of a namespace."""
    user = user_of(namespace, account)
    return [call for call in recorded_calls(cluster.folder) if call.user == user]


@pytest.mark.parametrize("everywhere", [False, True], ids=["role", "cluster role"])
def test_operator_uses_its_whole_role_and_nothing_else(cluster, namespace, tmp_path, everywhere):
    """A Job is read before it is replaced, and deleted then and beyond the history limits."""
    world = World(cluster, namespace, tmp_path)
    world.operator = OperatorProcess(
        cluster, namespace, tmp_path, "--default-deadline", "1h", "--events", "all", everywhere=everywhere
    )
    world.put("quick", policy={"concurrency": "allow"}, successfulJobsHistoryLimit=0)
    world.put("stuck", "never", policy={"concurrency": "replace"})
    with ending_pods(cluster, namespace), world.operator as operator:
        operator.until(lambda: operator.runs("quick") and not operator.runs("quick")[0].open, "a run has ended")
        operator.until(lambda: world.events()["Replaced"], "a run is replaced")
        operator.until(lambda: {call.right for call in calls_of(cluster, namespace)} >= REQUESTS, "all rights are used")
    operator.until(lambda: {call.right for call in calls_of(cluster, namespace)} >= RIGHTS, "all rights are recorded")
    calls = calls_of(cluster, namespace)
    assert {call.right for call in calls} == RIGHTS
    assert [call for call in calls if call.is_forbidden] == []
    remove_cluster_rights(cluster)


def test_role_without_the_finalizers_starts_no_job_where_owners_are_enforced(cluster, namespace, tmp_path):
    """No request shows that this right is needed: the admission plugin asks for it."""
    path = f"{PATHS['Role'].format(namespace=namespace)}/kron-operator"
    world = World(cluster, namespace, tmp_path)
    role = cluster.do("GET", path)
    rules = [rule for rule in role["rules"] if rule["resources"] != ["kronjobs/finalizers"]]
    assert len(rules) == len(role["rules"]) - 1
    cluster.do("PUT", path, {**role, "rules": rules})
    world.put("a", policy={"concurrency": "allow", "deadline": "2s"})
    with world.operator as operator:
        operator.until(lambda: world.status("a").get("lastOutcome") == "missed", "a run cannot start")
        assert world.jobs("a") == []
        cluster.do("PUT", path, {**role, "metadata": {"name": "kron-operator"}})
        operator.until(lambda: world.jobs("a"), "a Job")


def test_refused_request_is_recorded(cluster, namespace):
    """A test that finds no refused request has looked."""
    create_once(cluster, {"kind": "ServiceAccount", "metadata": {"name": "stranger"}}, namespace)
    headers = {"Authorization": f"Bearer {token_of(cluster, namespace, 'stranger')}"}
    answer = cluster.http.post(JOB.path(namespace), json=job("one", template()), headers=headers)
    assert answer.status_code == 403
    (call,) = calls_of(cluster, namespace, "stranger")
    assert (call.right, call.is_forbidden) == (("batch/jobs", "create"), True)
