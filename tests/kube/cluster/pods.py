"""Pods without a node: a thread says how they end, as a kubelet would. The rest is done by the real controllers."""

import threading
from contextlib import contextmanager

import httpx2

from tests.kube.cluster.control_plane import MERGE_PATCH

END = "test/end"  # annotation of a pod template: `success`, `failed`, or `never`
PHASES = {"success": "Succeeded", "failed": "Failed"}
PAUSE_SECONDS = 0.1


def template(end="success", **spec):
    """A template of Jobs whose pods end so."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    metadata = {"annotations": {END: end}}
    return {"spec": {"backoffLimit": 0, **spec, "template": {"metadata": metadata, "spec": pod}}}


def end_pod(cluster, pod, end):
    """Let a pod end."""
    metadata = pod["metadata"]
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status"
    return cluster.request("PATCH", path, {"status": {"phase": PHASES[end]}}, content_type=MERGE_PATCH)


def end_pods(cluster, namespace):
    """Let each pending pod of a namespace end as its annotation says."""
    for pod in cluster.do("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]:
        end = (pod["metadata"].get("annotations") or {}).get(END, "success")
        if pod["status"].get("phase") == "Pending" and end in PHASES:
            end_pod(cluster, pod, end)


@contextmanager
def ending_pods(cluster, namespace):
    """Meanwhile pods of a namespace end as their annotations say."""
    stop = threading.Event()

    def work():
        while not stop.wait(PAUSE_SECONDS):
            try:
                end_pods(cluster, namespace)
            except (httpx2.HTTPError, AssertionError):  # the API server restarts, or the namespace goes
                continue

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
