"""A real node of a cluster: kube-scheduler, containerd and kubelet. Its pods really run, on the network of the host."""

import json
from contextlib import contextmanager

from tests.kube.cluster.containers import Containers
from tests.kube.cluster.image import SHELL_IMAGE
from tests.kube.cluster.machine import Machine
from tests.postgres import free_port

KUBELET, SCHEDULER = "kubelet", "kube-scheduler"
NAME = "node"
PATH = f"/api/v1/nodes/{NAME}"
READY_SECONDS = 300.0


def shell(script, *, backoff=0, **spec):
    """A template of Jobs whose pods run a shell script."""
    container = {"name": "c", "image": SHELL_IMAGE, "imagePullPolicy": "Never", "command": ["/bin/sh", "-c", script]}
    pod = {
        "restartPolicy": "Never",
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
    return {"spec": {"backoffLimit": backoff, **spec, "template": {"spec": pod}}}


class Node:
    """The node of a cluster."""

    def __init__(self, cluster):
        self.cluster, self.processes = cluster, cluster.processes
        self.machine = Machine(cluster.processes)
        self.containers = Containers(self.machine)
        self.config = self.machine.folder / "kubelet.json"

    def start(self):
        """Start the node, and wait until it takes pods."""
        self.machine.start()
        self.containers.start()
        self.config.write_text(json.dumps(self._settings()), encoding="utf-8")
        options = {"kubeconfig": self.cluster.kubeconfig, "secure-port": "0", "leader-elect": "false"}
        program = self.cluster.release.programs / SCHEDULER
        self.processes.start(SCHEDULER, program, *_options(options))
        self.start_kubelet()

    def start_kubelet(self):
        """Start kubelet, and wait until the node takes pods."""
        folder = self.machine.folder / "kubelet"
        options = {
            "kubeconfig": self.cluster.kubeconfig,
            "config": self.config,
            "root-dir": folder,
            "cert-dir": folder / "certificates",
            "hostname-override": NAME,
        }
        self.machine.start_program(KUBELET, self.cluster.release.programs / KUBELET, *_options(options))
        self.processes.until(self.is_ready, READY_SECONDS, "the node is ready")

    def lose(self):
        """Stop kubelet, as if the machine were gone. Its containers go on, and nobody tells how they end."""
        self.processes.stop(KUBELET)

    def is_ready(self):
        """Whether the node takes pods."""
        return self.condition() == "True" and not self._object().get("spec", {}).get("taints")

    def condition(self):
        """The condition `Ready` of the node, as the control plane has it; empty if there is no node."""
        conditions = self._object().get("status", {}).get("conditions") or ()
        return next((each["status"] for each in conditions if each["type"] == "Ready"), "")

    def remove(self):
        """Remove the node from the cluster, as the owner of a lost machine does."""
        self.cluster.request("DELETE", PATH)

    def close(self):
        """Stop the node. Nothing of it is left on this machine."""
        for name in (KUBELET, SCHEDULER, "containerd"):
            if name in self.processes.living:
                self.processes.stop(name)
        self.machine.close()
        self.remove()

    def _object(self):
        answer = self.cluster.request("GET", PATH)
        return answer.json() if answer.is_success else {}

    def _settings(self):
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": "127.0.0.1",
            "port": free_port(),
            "healthzPort": free_port(),
            "readOnlyPort": 0,
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "containerRuntimeEndpoint": f"unix://{self.containers.socket}",
            "podLogsDir": str(self.machine.folder / "logs"),
            "volumePluginDir": str(self.machine.folder / "plugins"),
            "resolvConf": "",
            "failSwapOn": False,
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": self.machine.cgroup,
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "makeIPTablesUtilChains": False,
            "oomScoreAdj": 0,
            "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
            "imageGCHighThresholdPercent": 100,
            "nodeStatusUpdateFrequency": "5s",
            "nodeLeaseDurationSeconds": 20,
        }


@contextmanager
def running_node(cluster):
    """A node that is stopped afterwards."""
    node = Node(cluster)
    try:
        node.start()
        yield node
    finally:
        node.close()


def _options(options):
    return [f"--{name}={value}" for name, value in options.items()]
