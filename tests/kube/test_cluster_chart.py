"""The installation on a real API server: the chart, the files of kustomize and the manifests are accepted."""

import shutil
import subprocess

import pytest
import yaml

from tests.kube.cluster.release import RULES_SINCE
from tests.kube.conftest import KRON
from tests.operator.manifest_files import FOLDER
from tests.operator.test_manifests import HELM, NAME, helm, needs_helm

CHART = FOLDER / "chart"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")]


@pytest.fixture(scope="module")
def namespaces(cluster):
    """The namespaces that the objects name. A dry run creates none."""
    if cluster.release.minor < RULES_SINCE:
        pytest.skip(f"Kubernetes {cluster.release.version} does not check unknown fields, and has no rules in CEL")
    names = [NAME, "billing", "shop"]
    created = [name for name in names if cluster.request("POST", "/api/v1/namespaces", _named(name)).is_success]
    yield names
    for name in created:
        cluster.request("DELETE", f"/api/v1/namespaces/{name}")


def _named(name):
    return {"metadata": {"name": name}}


def dry_run(cluster, text):
    """Let the API server check objects as if it applied them. Returns how many it accepted; warnings fail."""
    words = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-"]
    command = ["kubectl", "--kubeconfig", str(cluster.kubeconfig), *words]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return len(done.stdout.splitlines())


def count(text):
    """The number of objects in a text."""
    return sum(1 for body in yaml.safe_load_all(text) if body)


@needs_helm
@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--set", "store.type=postgres"],
        ["--set", "namespaces={billing,shop}"],
        ["--set", "persistence.enabled=false,networkPolicy.enabled=false,userRoles=false"],
    ],
    ids=["sqlite", "postgres", "namespaces", "options"],
)
def test_chart_is_accepted(cluster, namespaces, words):
    result = helm("template", NAME, str(CHART), "--namespace", NAME, "--include-crds", *words)
    assert result.returncode == 0, result.stderr
    assert dry_run(cluster, result.stdout) == count(result.stdout) > 5


@needs_helm
def test_chart_has_no_lint_and_helm_asks_the_server(cluster, namespaces):
    """helm checks the objects against the API server's own schemas, too."""
    result = helm("lint", "--strict", str(CHART))
    assert result.returncode == 0, result.stdout
    words = ["install", NAME, str(CHART), "--namespace", NAME, "--dry-run=server", "--kubeconfig", cluster.kubeconfig]
    done = subprocess.run([HELM, *map(str, words)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["base", "postgres", "namespaced"])
def test_kustomize_is_accepted(cluster, namespaces, name):
    folder = FOLDER / "kustomize" / name
    built = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, timeout=60, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    assert dry_run(cluster, built.stdout) == count(built.stdout) > 5


@pytest.mark.parametrize("words", [[], ["--store", "postgres"], ["--namespaces", "billing,shop"]])
def test_manifests_are_accepted(cluster, namespaces, words):
    done = subprocess.run(
        [KRON, "operator", "manifests", *words], capture_output=True, text=True, timeout=60, check=True
    )
    assert dry_run(cluster, done.stdout) == count(done.stdout) > 5


def test_misspelled_field_is_refused(cluster, namespaces):
    """The check of the others can fail: the API server knows every field of the objects."""
    text = (FOLDER / "kustomize" / "base" / "workload.yaml").read_text(encoding="utf-8")
    with pytest.raises(AssertionError, match="readOnlyRootFileSystem"):
        dry_run(cluster, text.replace("readOnlyRootFilesystem", "readOnlyRootFileSystem"))
