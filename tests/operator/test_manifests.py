"""The installation: the manifests, the files of kustomize and the Helm chart give the same objects."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kron.apps.cli import main
from kron.apps.operator.installation import NAME, POSTGRES, Installation
from kron.apps.operator.manifests import manifests
from kron.apps.operator.rbac import operator_rules
from tests.operator.manifest_files import FOLDER, NAMESPACED, files

CHART = FOLDER / "chart"
HELM = shutil.which("helm", path=str(Path(sys.executable).parent)) or shutil.which("helm")
needs_helm = pytest.mark.skipif(not HELM, reason="needs helm")
RIGHTS = {  # all that the operator may do
    "kron.io/kronjobs": {"list", "watch"},
    "kron.io/kronjobs/status": {"patch"},
    "kron.io/kronjobs/finalizers": {"update"},
    "batch/jobs": {"get", "list", "watch", "create", "delete"},
    "events.k8s.io/events": {"create"},
}


def printed(capsys, *words):
    assert main(["operator", "manifests", *words]) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


def by_place(bodies):
    """Objects by kind, namespace and name. Two of one place are a mistake."""
    found = {}
    for body in bodies:
        key = body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]
        assert key not in found, key
        found[key] = body
    return found


def of_kind(bodies, *kinds):
    return [body for body in bodies if body["kind"] in kinds]


def test_files_are_what_the_source_generates():
    for path, text in files().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run make docs"


def test_command_prints_all_objects(capsys):
    assert printed(capsys) == manifests(Installation())
    shared = Installation(("a", "b"), POSTGRES, "ops", "kron:2", "east/", "1m")
    words = "--namespaces a,b,a --store postgres --namespace ops --image kron:2 --identity-prefix east/"
    assert printed(capsys, *words.split(), "--default-deadline", "1m") == manifests(shared)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--namespaces", "a,B"], "not the name of a namespace"),
        (["--namespace", "a-"], "not the name of a namespace"),
        (["--default-deadline", "soon"], "not a valid duration"),
    ],
)
def test_wrong_option_of_the_manifests_is_a_usage_error(capsys, words, message):
    assert main(["operator", "manifests", *words]) == 2
    assert message in capsys.readouterr().err


def test_operator_has_only_the_rights_that_it_needs():
    rights = {
        f"{group}/{resource}": set(rule["verbs"])
        for rule in operator_rules()
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert rights == RIGHTS


def test_namespaces_get_roles_of_their_own_and_no_cluster_role(capsys):
    bodies = printed(capsys, "--namespaces", "a,b")
    roles = [(body["metadata"]["namespace"], body["rules"]) for body in of_kind(bodies, "Role")]
    assert roles == [("a", operator_rules()), ("b", operator_rules())]
    for binding in of_kind(bodies, "RoleBinding"):
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": NAME, "namespace": NAME}]
    assert {body["metadata"]["name"] for body in of_kind(bodies, "ClusterRole")} == {f"{NAME}-view", f"{NAME}-edit"}
    assert of_kind(bodies, "ClusterRoleBinding") == []


def test_users_of_namespaces_may_work_with_kronjobs(capsys):
    view, edit = (body for body in of_kind(printed(capsys), "ClusterRole") if body["metadata"].get("labels"))
    assert {label.rpartition("-")[2] for label in view["metadata"]["labels"]} == {"view", "edit", "admin"}
    assert {label.rpartition("-")[2] for label in edit["metadata"]["labels"]} == {"edit", "admin"}
    assert not {"create", "patch", "delete", "update"} & {verb for rule in view["rules"] for verb in rule["verbs"]}


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_pod_has_no_privileges(capsys, store):
    """What the Pod Security Standard `restricted` demands, and a read-only root."""
    bodies = printed(capsys, "--store", store)
    (workload,) = of_kind(bodies, "StatefulSet", "Deployment")
    pod = workload["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 65532
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"] == {"memory": "512Mi"}
    assert of_kind(bodies, "Namespace")[0]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_sqlite_has_one_replica_with_a_volume(capsys):
    (workload,) = of_kind(printed(capsys), "StatefulSet", "Deployment")
    spec = workload["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    (claim,) = spec["volumeClaimTemplates"]
    assert (workload["kind"], spec["replicas"]) == ("StatefulSet", 1)
    assert {"name": claim["metadata"]["name"], "mountPath": "/var/lib/kron"} in container["volumeMounts"]
    assert container["args"] == [
        *("operator", "run", "--store=sqlite:/var/lib/kron/operator.db"),
        *("--listen=0.0.0.0:8080", "--default-deadline=5m"),
    ]


def test_postgres_has_several_replicas_and_a_secret(capsys):
    bodies = printed(capsys, "--store", "postgres")
    (workload,) = of_kind(bodies, "StatefulSet", "Deployment")
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    assert (workload["kind"], workload["spec"]["replicas"]) == ("Deployment", 2)
    assert "--store=$(KRON_STORE)" in container["args"]
    assert container["env"][0]["valueFrom"] == {"secretKeyRef": {"name": "kron-operator-store", "key": "url"}}
    ports = [rule["ports"] for body in of_kind(bodies, "NetworkPolicy") for rule in body["spec"]["egress"]]
    assert {"protocol": "TCP", "port": 5432} in [port for each in ports for port in each]


def test_selectors_and_probes_lead_to_the_pod(capsys):
    bodies = printed(capsys, "--store", "postgres")
    (workload,) = of_kind(bodies, "Deployment")
    template = workload["spec"]["template"]
    (container,) = template["spec"]["containers"]
    labels, port = template["metadata"]["labels"], container["ports"][0]["name"]
    (service,) = of_kind(bodies, "Service")
    assert workload["spec"]["selector"]["matchLabels"] == service["spec"]["selector"] == labels
    assert all(body["spec"]["podSelector"] == {"matchLabels": labels} for body in of_kind(bodies, "NetworkPolicy"))
    assert [container[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")] == [
        {"path": "/livez", "port": port},
        {"path": "/readyz", "port": port},
    ]
    assert template["spec"]["serviceAccountName"] == of_kind(bodies, "ServiceAccount")[0]["metadata"]["name"]


def built(folder):
    """What `kustomize build` gives, as far as these files use it: resources, removals and one kind of JSON patch."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    found = {}
    for name in kustomization["resources"]:
        path = folder / name
        more = built(path.resolve()) if path.is_dir() else by_place(yaml.safe_load_all(path.read_text("utf-8")))
        assert not more.keys() & found.keys()
        found |= more
    for each in kustomization.get("patches", ()):
        patch = yaml.safe_load(each["patch"])
        if isinstance(patch, dict):
            assert patch.pop("$patch") == "delete"
            del found[next(iter(by_place([patch])))]
            continue
        (body,) = [body for body in found.values() if body["kind"] == each["target"]["kind"]]
        (operation,) = patch
        *path, last = operation["path"].strip("/").split("/")
        for name in path:
            body = body[int(name) if name.isdigit() else name]
        assert (operation["op"], last) == ("add", "-")
        body.append(operation["value"])
    return found


@pytest.mark.parametrize(
    ("name", "installation"),
    [("base", Installation()), ("postgres", Installation(store=POSTGRES)), ("namespaced", NAMESPACED)],
)
def test_kustomize_gives_the_objects_of_the_command(name, installation):
    assert built(FOLDER / "kustomize" / name) == by_place(manifests(installation))


def helm(*words):
    return subprocess.run([str(HELM), *words], capture_output=True, text=True, timeout=60, check=False)


def rendered(*words):
    result = helm("template", NAME, str(CHART), "--namespace", NAME, "--include-crds", *words)
    assert result.returncode == 0, result.stderr
    return by_place(filter(None, yaml.safe_load_all(result.stdout)))


def without_namespace(installation):
    """All objects except the namespace of the operator, which `helm install --create-namespace` creates."""
    return {key: body for key, body in by_place(manifests(installation)).items() if key[0] != "Namespace"}


@needs_helm
def test_chart_has_no_lint():
    result = helm("lint", "--strict", str(CHART))
    assert result.returncode == 0, result.stdout


@needs_helm
@pytest.mark.parametrize(
    ("words", "installation"),
    [
        ([], Installation()),
        (["--set", "store.type=postgres"], Installation(store=POSTGRES)),
        (["--set", "namespaces={billing,shop}"], NAMESPACED),
        (
            ["--set", "identityPrefix=east/,defaultDeadline=1m,image.repository=kron,image.tag=two"],
            Installation(image="kron:two", identity_prefix="east/", default_deadline="1m"),
        ),
    ],
    ids=["sqlite", "postgres", "namespaces", "options"],
)
def test_chart_gives_the_objects_of_the_command(words, installation):
    assert rendered(*words) == without_namespace(installation)


@needs_helm
def test_values_of_the_chart_reach_the_pod():
    words = "persistence.enabled=false,networkPolicy.enabled=false,userRoles=false,nodeSelector.disk=ssd"
    bodies = rendered("--set", words, "--set-json", 'extraArgs=["--events=all"]').values()
    (workload,) = of_kind(bodies, "StatefulSet")
    pod = workload["spec"]["template"]["spec"]
    assert {"name": "state", "emptyDir": {}} in pod["volumes"]
    assert "volumeClaimTemplates" not in workload["spec"]
    assert pod["nodeSelector"] == {"disk": "ssd"}
    assert pod["containers"][0]["args"][-1] == "--events=all"
    assert of_kind(bodies, "NetworkPolicy") == []
    assert [body["metadata"]["name"] for body in of_kind(bodies, "ClusterRole")] == [NAME]


@needs_helm
@pytest.mark.parametrize(
    "value", ["store.type=mysql", "namespaces={A}", "defaultDeadline=soon", "replicas=0", "image.name=a", "other=1"]
)
def test_wrong_value_is_refused_by_the_chart(value):
    assert helm("template", NAME, str(CHART), "--set", value).returncode == 1


def test_schema_of_the_values_names_every_value():
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert set(schema["properties"]) == set(values) | {"global"}
    for name, inner in schema["properties"].items():
        if inner.get("additionalProperties") is False:
            assert set(inner["properties"]) == set(values[name]), name
