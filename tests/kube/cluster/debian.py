"""Kubernetes 1.20 for tests, built from Debian's source package: the oldest server that Kron supports.

Its modules are in the source package, so nothing else is downloaded. etcd is that of Debian.
"""

import os
import shutil
import subprocess

from tests.kube.cluster.release import ETCD

SOURCE, CODENAME = "kubernetes", "bookworm"
BUILD_PACKAGES = ("golang-go", "rsync", "jq", "make", "dpkg-dev", "etcd-server")
# Newer Go versions crash the copy of this library that the source package has. Debian's own package is fixed.
REFLECT = "golang-github-modern-go-reflect2-dev"
REFLECT_FOLDER = "github.com/modern-go/reflect2"
GO_SETTINGS = ("GOFLAGS", "GO111MODULE", "GOROOT", "GOTOOLCHAIN", "GOWORK")  # of this machine, for newer Go versions
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def build_from_debian(release, programs):
    """Build programs of the release that Debian has."""
    if not shutil.which("apt-get"):
        raise SystemExit(f"Kubernetes {release.version} is built from a source package of Debian, and needs apt-get")
    release.programs.mkdir(parents=True, exist_ok=True)
    _run("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "--no-upgrade", *BUILD_PACKAGES)
    if ETCD in programs:
        shutil.copy(shutil.which(ETCD), release.programs / ETCD)
    compiled = [program for program in programs if program != ETCD]
    if compiled:
        _compile(_source(release), compiled, release)
        shutil.rmtree(release.folder / "debian")


def _compile(source, programs, release):
    """Compile programs together: the code that is generated first is the same for all."""
    link = source / ".go" / "src" / "k8s.io" / SOURCE
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(source)
    print(f"{', '.join(programs)}: about 15 CPU minutes", flush=True)
    what = " ".join(f"cmd/{program}" for program in programs)
    _run("make", f"WHAT={what}", folder=source, **_environment(release, source / ".go"))
    for program in programs:
        shutil.copy(source / "_output" / "local" / "bin" / "linux" / "amd64" / program, release.programs / program)
        print(f"{program}: built", flush=True)


def _source(release):
    """The unpacked source package, with the newer library."""
    folder = release.folder / "debian"
    source = folder / "source"
    if source.exists():
        return source
    for each in ("lists/partial", "cache/archives/partial"):
        (folder / each).mkdir(parents=True, exist_ok=True)
    options = _apt_options(folder)
    _run("apt-get", *options, "update", folder=folder)
    _run("apt-get", *options, "source", "--download-only", SOURCE, folder=folder)
    (description,) = folder.glob(f"{SOURCE}_*{release.version}*.dsc")
    _run("apt-get", "-o", "APT::Sandbox::User=root", "download", REFLECT, folder=folder)
    (package,) = folder.glob(f"{REFLECT}_*.deb")
    _run("dpkg-deb", "-x", package, folder / "reflect", folder=folder)
    _run("dpkg-source", "-x", "--no-check", description, folder / "unpacked", folder=folder)
    _replace_library(folder)
    (folder / "unpacked").rename(source)
    return source


def _replace_library(folder):
    old = folder / "unpacked" / "vendor" / REFLECT_FOLDER
    new = folder / "reflect" / "usr" / "share" / "gocode" / "src" / REFLECT_FOLDER
    for path in [*old.glob("*.go"), *old.glob("*.s")]:
        path.unlink()
    for path in [*new.glob("*.go"), *new.glob("*.s")]:
        if not path.name.endswith("_test.go"):
            shutil.copy(path, old)


def _apt_options(folder):
    """Options that let apt read the source packages of the release, whatever this machine's own settings are."""
    targets = _output("apt-get", "indextargets", "--format", "$(REPO_URI)").splitlines()
    address = next(line for line in targets if "/debian/" in line)
    line = f"deb-src [signed-by={KEYRING}] {address} {CODENAME} main\n"
    (folder / "sources.list").write_text(line, encoding="utf-8")
    settings = {
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def _environment(release, go_path):
    major, minor, _ = release.version.split(".")
    return {
        "GOPATH": str(go_path),
        "HOME": str(release.folder / "debian"),
        "CGO_ENABLED": "0",
        "GOPROXY": "off",
        "PATH": f"/usr/lib/go/bin:{os.environ['PATH']}",
        "KUBE_GIT_VERSION": f"v{release.version}",
        "KUBE_GIT_TREE_STATE": "clean",
        "KUBE_GIT_COMMIT": "debian",
        "KUBE_GIT_MAJOR": major,
        "KUBE_GIT_MINOR": minor,
    }


def _run(*words, folder=None, **environment):
    kept = {name: value for name, value in os.environ.items() if name not in GO_SETTINGS}
    done = subprocess.run(
        [*map(str, words)],
        cwd=folder,
        env={**kept, "DEBIAN_FRONTEND": "noninteractive", **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(map(str, words))}\n{done.stdout[-3000:]}")


def _output(*words):
    return subprocess.run(words, text=True, stdout=subprocess.PIPE, check=True).stdout
