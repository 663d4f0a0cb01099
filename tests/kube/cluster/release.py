"""Kubernetes release that the tests use, and the folder that has its programs.

`KRON_KUBE` names the release, such as `1.31` or `1.31.4`. `KRON_KUBE_DIR` is the folder of all releases.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

DEFAULT = "1.31"
RULES_SINCE = 25  # minor release whose API server checks the rules in CEL
CRONJOBS_SINCE = 21  # minor release that has CronJobs in batch/v1
EDIT_TIMES_SINCE = 31  # minor release that tells the time of each edit: 1.20 does not, and none between them was tried
PATCHES = {"1.20": "1.20.2", "1.31": "1.31.4"}  # the patch release of a minor release
OLDEST = "1.20.2"  # built from Debian's source package; the others are Go modules
ETCD_VERSION = "3.5.21"
ETCD = "etcd"
CONTROL_PLANE = (ETCD, "kube-apiserver", "kube-controller-manager")
NODE = ("kube-scheduler", "kubelet")


class Release(NamedTuple):
    """A release and its folder."""

    version: str
    folder: Path

    @property
    def programs(self):
        """Folder of the programs."""
        return self.folder / "bin"

    @property
    def minor(self):
        """Number of the minor release."""
        return int(self.version.split(".")[1])

    def missing(self, names=CONTROL_PLANE):
        """The programs that are not there."""
        return [name for name in names if not (self.programs / name).is_file()]


def chosen_release(name=""):
    """The release of a name such as `1.31`, else of `KRON_KUBE`."""
    name = name or os.environ.get("KRON_KUBE") or DEFAULT
    version = PATCHES.get(name, name)
    if not re.fullmatch(r"1\.\d+\.\d+", version):
        raise ValueError(f"unknown Kubernetes release {name!r}: use one of {', '.join(PATCHES)}, or such as 1.31.4")
    root = Path(os.environ.get("KRON_KUBE_DIR") or Path.home() / ".cache" / "kron-kube")
    return Release(version, root / version)


def built_release():
    """The chosen release of a campaign, which ends with a reason if its programs are missing."""
    release = chosen_release()
    missing = release.missing()
    if missing:
        raise SystemExit(
            f"FAIL: Kubernetes {release.version} has no {', '.join(missing)} in {release.programs}: run `make kube`"
        )
    return release
