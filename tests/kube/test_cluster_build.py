"""The build of Kubernetes for tests: its release, its folder, and the main module that names every staging module."""

import pytest

from tests.kube.cluster import build
from tests.kube.cluster.build import main_module
from tests.kube.cluster.release import CONTROL_PLANE, chosen_release

UPSTREAM = """\
module k8s.io/kubernetes

go 1.23.0

godebug default=go1.23

godebug (
	winsymlink=0
)

require (
	github.com/other/module v0.0.0
	k8s.io/api v0.0.0
	k8s.io/cri-api v0.0.0
	k8s.io/klog/v2 v2.130.1
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
)
"""


def test_main_module_names_a_release_of_each_staging_module():
    assert main_module(UPSTREAM, "1.31.4").splitlines() == [
        "module kubernetes-for-tests",
        "go 1.23.0",
        "godebug default=go1.23",
        "godebug (",
        "\twinsymlink=0",
        ")",
        "require k8s.io/kubernetes v1.31.4",
        "replace k8s.io/api => k8s.io/api v0.31.4",
        "replace k8s.io/cri-api => k8s.io/cri-api v0.31.4",
    ]


@pytest.mark.parametrize(
    ("name", "version"), [("", "1.31.4"), ("1.31", "1.31.4"), ("1.20", "1.20.2"), ("1.29.6", "1.29.6")]
)
def test_release_name_gives_version_and_folder(tmp_path, monkeypatch, name, version):
    monkeypatch.setenv("KRON_KUBE_DIR", str(tmp_path))
    monkeypatch.setenv("KRON_KUBE", name)
    release = chosen_release()
    assert (release.version, release.folder) == (version, tmp_path / version)
    assert release.missing() == list(CONTROL_PLANE)
    release.programs.mkdir(parents=True)
    (release.programs / "etcd").touch()
    assert release.missing() == list(CONTROL_PLANE[1:])


def test_unknown_release_is_refused(monkeypatch):
    monkeypatch.setenv("KRON_KUBE", "1.xx")
    with pytest.raises(ValueError, match=r"unknown Kubernetes release '1\.xx'"):
        chosen_release()


def test_oldest_release_is_built_from_the_source_package(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setenv("KRON_KUBE_DIR", str(tmp_path))
    monkeypatch.setattr(build, "build_from_debian", lambda release, programs: asked.append((release.minor, programs)))
    build.build(chosen_release("1.20"), CONTROL_PLANE)
    assert asked == [(20, CONTROL_PLANE)]
