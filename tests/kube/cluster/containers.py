"""Containers of a node: containerd with runc, from Debian packages, and images that were made here."""

import shutil
import subprocess

from tests.kube.cluster.image import BUSYBOX, PAUSE_IMAGE, write_images

CONTAINERD = "containerd"
PROGRAMS = ("containerd", "ctr", "runc")
PACKAGES = ("containerd", "runc", "busybox-static")
READY_SECONDS = 120.0
CONFIG = """\
version = 2
root = "{folder}/root"
state = "{folder}/state"
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true  # a container of tests may not have the right to lower it
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = "{folder}/network"
"""
# A node is ready only if a network is configured. Pods of tests use the network of the host, which needs no plugin.
NETWORK = '{"cniVersion": "0.4.0", "name": "none", "plugins": [{"type": "loopback"}]}'


class Containers:
    """containerd in the namespace of a node."""

    def __init__(self, machine):
        self.machine, self.folder = machine, machine.folder / "containerd"
        self.socket = self.folder / "containerd.sock"

    def start(self):
        """Start containerd, and import the images."""
        (self.folder / "network").mkdir(parents=True)
        (self.folder / "network" / "10-none.conflist").write_text(NETWORK, encoding="utf-8")
        config = self.folder / "config.toml"
        text = CONFIG.format(folder=self.folder, socket=self.socket, pause=PAUSE_IMAGE)
        config.write_text(text, encoding="utf-8")
        self.machine.start_program(CONTAINERD, CONTAINERD, "--config", config)
        self.machine.processes.until(lambda: self._ctr("version") == 0, READY_SECONDS, "containerd is ready")
        archive = self.folder / "images.tar"
        write_images(archive)
        assert self._ctr("--namespace", "k8s.io", "images", "import", archive) == 0, "the images were not imported"

    def _ctr(self, *words):
        command = ["ctr", "--address", self.socket, *words]
        done = subprocess.run([*map(str, command)], capture_output=True, timeout=READY_SECONDS, check=False)
        return done.returncode


def missing_packages():
    """The Debian packages whose programs are not there."""
    is_missing = [name for name in PROGRAMS if not shutil.which(name)]
    return PACKAGES if is_missing or not BUSYBOX.exists() else ()


def install_packages():
    """Install the packages, if this machine has apt."""
    if missing_packages() and shutil.which("apt-get"):
        words = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *PACKAGES]
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
