"""Private view of this machine for a node: the node's mounts, processes and kernel settings end with it.

The node runs in a mount namespace and a process namespace of its own. What it mounts is not seen outside. When the
first process of the namespace ends, the kernel ends the others, containers too, and drops the mounts. Only the cgroups
are shared with the machine: those of the node have a root of their own, and `close` removes it.
"""

import os
import shutil
import tempfile
import time
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
STOP_SECONDS = 60.0
NAMESPACE = "node-namespace"
PRIVATE_FOLDERS = ("/run", "/var/lib", "/var/log")  # where kubelet and containerd write, whatever their options say
SETTINGS = (  # that kubelet writes; in the namespace they are files
    *("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops"),
    *("kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"),
)
SCRIPT = """
set -e
for folder in {folders}; do mount -t tmpfs tmpfs $folder; done
for name in {settings}; do
    mkdir -p settings/$name; cat /proc/sys/$name > settings/$name/value
    mount --bind settings/$name/value /proc/sys/$name
done
touch ready
while sleep 5; do :; done  # a shell that waits for its children also buries those of others
"""


class Machine:
    """Namespace of a node. `folder` is on a disk, because kubelet measures the file system of its images."""

    def __init__(self, processes):
        self.processes = processes
        self.folder = Path(tempfile.mkdtemp(prefix="kron-node-"))
        self.cgroup = f"/{self.folder.name}"

    def start(self):
        """Make the namespace."""
        self.processes.remove_at_end(self.folder, *(base / self.cgroup.strip("/") for base in cgroup_bases()))
        script = SCRIPT.format(folders=" ".join(PRIVATE_FOLDERS), settings=" ".join(SETTINGS))
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
        self.processes.start(NAMESPACE, *words, "sh", "-c", f"cd {self.folder}; {script}")
        self.processes.until((self.folder / "ready").exists, STOP_SECONDS, "the namespace of the node is ready")

    def start_program(self, name, *words):
        """Start a program in the namespace. It is killed when `nsenter`, which started it, ends."""
        pid = _first_child(self.processes.living[NAMESPACE].pid)
        enter = ["nsenter", f"--target={pid}", "--mount", "--pid", "setpriv", "--pdeathsig", "KILL"]
        self.processes.start(name, *enter, *words)

    def close(self):
        """End all that runs in the namespace, and remove its cgroups and its folder."""
        if NAMESPACE in self.processes.living:
            self.processes.stop(NAMESPACE)
        for root in cgroup_roots(self.cgroup):
            _remove_cgroup(root)
        shutil.rmtree(self.folder, ignore_errors=True)


def cgroup_roots(name):
    """The folders of a cgroup: one, or in version 1 one for each controller."""
    return [path for path in (base / name.strip("/") for base in cgroup_bases()) if path.is_dir()]


def cgroup_bases():
    """The folders that have all cgroups: one, or in version 1 one for each controller."""
    is_version_2 = (CGROUPS / "cgroup.controllers").exists()
    return [CGROUPS] if is_version_2 else [path for path in CGROUPS.iterdir() if path.is_dir()]


def _remove_cgroup(root):
    """Remove a cgroup and those in it. Its processes have been killed, and the kernel may still bury them."""
    deadline = time.monotonic() + STOP_SECONDS
    for folder, _, _ in os.walk(root, topdown=False):
        while True:
            try:
                Path(folder).rmdir()
                break
            except FileNotFoundError:
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)


def _first_child(pid):
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()[0])
