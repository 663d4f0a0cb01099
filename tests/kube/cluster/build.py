"""Kubernetes and etcd for the tests, built from Go modules: `make kube`.

    python -m tests.kube.cluster.build [--node] [RELEASE]

The go command downloads the modules with its own settings (`go env GOPROXY`) and verifies them. `k8s.io/kubernetes`
names its staging modules by relative paths, which count in the main module only. So the build has a main module of its
own that names a release of each of them.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.kube.cluster.debian import build_from_debian
from tests.kube.cluster.release import CONTROL_PLANE, ETCD, ETCD_VERSION, NODE, OLDEST, chosen_release

KUBERNETES, ETCD_SERVER = "k8s.io/kubernetes", "go.etcd.io/etcd/server/v3"
VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
PROGRESS_SECONDS = 10.0
_STAGING = re.compile(r"^\t(k8s\.io/[a-z0-9-]+) v0\.0\.0$", re.MULTILINE)
_GODEBUG_BLOCK = re.compile(r"^godebug \(.*?^\)$", re.MULTILINE | re.DOTALL)
_KEPT_LINE = re.compile(r"^(?:go|godebug) [^(\n]*$", re.MULTILINE)


def build(release, programs):
    """Build programs of a release."""
    if release.version == OLDEST:
        build_from_debian(release, programs)
        return
    if not shutil.which("go"):
        raise SystemExit("make kube needs the go command")
    release.programs.mkdir(parents=True, exist_ok=True)
    for program in programs:
        folder = _etcd_module(release) if program == ETCD else _kubernetes_module(release)
        package = ETCD_SERVER if program == ETCD else f"{KUBERNETES}/cmd/{program}"
        _compile(folder, program, package, release)


def main_module(upstream, version):
    """The main module for a release: the settings of its own, and a release of each staging module."""
    staging = "v0." + version.partition(".")[2]
    kept = _KEPT_LINE.findall(upstream) + _GODEBUG_BLOCK.findall(upstream)
    replaced = [f"replace {name} => {name} {staging}" for name in _STAGING.findall(upstream)]
    return "\n".join(["module kubernetes-for-tests", *kept, f"require {KUBERNETES} v{version}", *replaced]) + "\n"


def _kubernetes_module(release):
    folder = release.folder / "kubernetes"
    if not (folder / "go.mod").exists():
        folder.mkdir(parents=True, exist_ok=True)
        answer = _go(release.folder, "mod", "download", "-json", f"{KUBERNETES}@v{release.version}")
        upstream = Path(json.loads(answer)["GoMod"]).read_text(encoding="utf-8")
        (folder / "go.mod").write_text(main_module(upstream, release.version), encoding="utf-8")
    return folder


def _etcd_module(release):
    folder = release.folder / ETCD
    if not (folder / "go.sum").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "go.mod").write_text("module etcd-for-tests\n\ngo 1.22\n", encoding="utf-8")
        _go(folder, "get", f"{ETCD_SERVER}@v{ETCD_VERSION}")
    return folder


def _compile(folder, program, package, release):
    """Compile a package, and tell the progress: the go command names each package when it begins with it."""
    path = release.programs / f".{program}"
    words = ["go", "build", "-v", "-trimpath", "-ldflags", _link_flags(release), "-o", str(path), package]
    started = told = time.monotonic()
    lines = []
    with subprocess.Popen(words, cwd=folder, env=_environment(), text=True, stderr=subprocess.PIPE) as process:
        for line in process.stderr:
            lines.append(line)
            if time.monotonic() >= told + PROGRESS_SECONDS:
                told = time.monotonic()
                print(f"{program}: {told - started:.0f} s, {line.strip()}", flush=True)
    if process.returncode:
        raise SystemExit(f"{program} {release.version} cannot be built:\n{''.join(lines[-20:])}")
    path.replace(release.programs / program)
    print(f"{program}: built in {time.monotonic() - started:.0f} s", flush=True)


def _link_flags(release):
    """No symbols, and the version that the programs report."""
    minor = release.version.split(".")[1]
    values = {"gitVersion": f"v{release.version}", "gitMajor": "1", "gitMinor": minor, "gitTreeState": "clean"}
    flags = [f"-X {package}.{name}={value}" for package in VERSION_PACKAGES for name, value in values.items()]
    return " ".join(["-s -w", *flags])


def _go(folder, *words):
    done = subprocess.run(
        ["go", *words], cwd=folder, env=_environment(), text=True, stdout=subprocess.PIPE, check=False
    )
    if done.returncode:
        raise SystemExit(f"failed: go {' '.join(words)}\n{done.stdout}")
    return done.stdout


def _environment():
    return {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -buildvcs=false", "GOWORK": "off"}


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.kube.cluster.build")
    parser.add_argument("release", nargs="?", default="", help="release such as 1.31; default: KRON_KUBE")
    parser.add_argument("--node", action="store_true", help="build kube-scheduler and kubelet too")
    options = parser.parse_args()
    os.nice(19)
    release = chosen_release(options.release)
    programs = release.missing((*CONTROL_PLANE, *(NODE if options.node else ())))
    build(release, programs)
    size = sum(path.stat().st_size for path in release.programs.iterdir()) / 1e6
    print(f"Kubernetes {release.version} is in {release.programs}: {size:.0f} MB")


if __name__ == "__main__":
    sys.exit(main())
