"""A namespace with an operator, whose KronJobs run real pods."""

import os
import subprocess

from kron.kube.kind import KRONJOB
from tests.kube.cluster.control_plane import MERGE_PATCH, TIMEOUT_SECONDS
from tests.kube.cluster.objects import kronjob
from tests.kube.cluster.operator_process import KRON
from tests.kube.test_operator_e2e import World


class Shop(World):
    """A namespace and its operator, and the questions of the tests."""

    def create(self, name, spec, annotations=None):
        """Create a KronJob. None removes a field of the spec."""
        body = kronjob(name, {field: value for field, value in spec.items() if value is not None})
        body["metadata"]["annotations"] = annotations or {}
        return self.cluster.do("POST", KRONJOB.path(self.namespace), body)

    def annotate(self, name, **annotations):
        """Set annotations of Kron; None removes one."""
        named = {f"kron.io/{key}": value for key, value in annotations.items()}
        body = {"metadata": {"annotations": named}}
        return self.cluster.do("PATCH", KRONJOB.path(self.namespace, name), body, content_type=MERGE_PATCH)

    def until(self, condition, what):
        """Wait until a condition holds."""
        return self.operator.until(condition, what)

    def runs(self, name):
        """The runs of a KronJob, the oldest first."""
        return self.operator.runs(name)

    def run_with(self, name, **fields):
        """Wait for a run that has such fields, such as `state` or `reason`, and return the first."""

        def look():
            return next((run for run in self.runs(name) if _has(run, fields)), None)

        return self.until(look, f"{name} has a run with {fields}")

    def pods(self, name):
        """The pods of a KronJob's Jobs, the oldest first."""
        jobs = {job["metadata"]["uid"] for job in self.jobs(name)}
        items = self.cluster.do("GET", f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        owned = [pod for pod in items if {each["uid"] for each in pod["metadata"].get("ownerReferences") or ()} & jobs]
        return sorted(owned, key=lambda pod: pod["metadata"]["creationTimestamp"])

    def pods_in(self, name, phase):
        """The pods of a KronJob in a phase."""
        return [pod for pod in self.pods(name) if pod["status"].get("phase") == phase]

    def told(self, name):
        """The reasons of the events about a KronJob."""
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        return {each["reason"] for each in self.cluster.do("GET", path)["items"] if each["regarding"]["name"] == name}

    def kubectl(self, *words):
        """What kubectl prints about the namespace. The commands of `kubectl kron` are found, too."""
        path = f"{KRON.parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig), "HOME": str(self.cluster.folder)}
        done = subprocess.run(
            ["kubectl", *words, "-n", self.namespace],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
            env={**environment, "PATH": path},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def _has(run, fields):
    return all(str(getattr(run, name)) == value for name, value in fields.items())
