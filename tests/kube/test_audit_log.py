"""Reading the audit log of an API server, without one."""

import json

from tests.kube.cluster.audit_log import LOG, Call, audit_options, recorded_calls, rights_of

USER = "system:serviceaccount:shop:kron-operator"


def line(number, verb, resource, decision="allow", *, uri="/apis", code=200, **names):
    event = {
        "auditID": str(number),
        "requestURI": uri,
        "verb": verb,
        "user": {"username": USER},
        "objectRef": {"resource": resource, **names},
        "annotations": {"authorization.k8s.io/decision": decision},
        "responseStatus": {"code": code},
    }
    return json.dumps(event)


def test_recorded_calls_name_right_status_and_refusal(tmp_path):
    lines = [
        line(1, "watch", "jobs", apiGroup="batch"),
        line(1, "watch", "jobs", apiGroup="batch"),
        line(2, "patch", "kronjobs", apiGroup="kron.io", subresource="status"),
        line(3, "create", "jobs", apiGroup="batch", uri="/apis/batch/v1/jobs?dryRun=All", code=201),
        line(4, "get", "pods", "forbid", code=403),
        '{"auditID": "5", "requ',
    ]
    (tmp_path / LOG).write_text("\n".join(lines), encoding="utf-8")
    assert recorded_calls(tmp_path) == [
        Call(USER, ("batch/jobs", "watch"), 200, False, False),
        Call(USER, ("kron.io/kronjobs/status", "patch"), 200, False, False),
        Call(USER, ("batch/jobs", "create"), 201, False, True),
        Call(USER, ("pods", "get"), 403, True, False),
    ]


def test_no_log_has_no_calls(tmp_path):
    assert recorded_calls(tmp_path) == []


def test_options_name_a_policy_that_is_written(tmp_path):
    options = audit_options(tmp_path)
    policy = json.loads((tmp_path / options["audit-policy-file"]).read_text(encoding="utf-8"))
    assert [rule["level"] for rule in policy["rules"]] == ["Metadata", "None"]


def test_rights_of_rules_are_pairs_of_resource_and_verb():
    rules = [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list"]}]
    assert rights_of(rules) == {("batch/jobs", "get"), ("batch/jobs", "list")}
