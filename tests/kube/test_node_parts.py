"""Parts of a node that need no node: its images, and what it would need from this machine."""

import hashlib
import json
import tarfile

from tests.kube import e2e
from tests.kube.cluster import image
from tests.kube.cluster.node import shell


def test_images_are_complete_and_share_a_layer(tmp_path, monkeypatch):
    busybox = tmp_path / "busybox"
    busybox.write_bytes(b"a program")
    monkeypatch.setattr(image, "BUSYBOX", busybox)
    image.write_images(tmp_path / "images.tar")
    with tarfile.open(tmp_path / "images.tar") as archive:
        manifest = json.load(archive.extractfile("manifest.json"))
        (layer,) = {name for each in manifest for name in each["Layers"]}
        digest = hashlib.sha256(archive.extractfile(layer).read()).hexdigest()
        configs = [json.load(archive.extractfile(each["Config"])) for each in manifest]
        with tarfile.open(fileobj=archive.extractfile(layer)) as files:
            assert files.extractfile("bin/busybox").read() == b"a program"
            assert files.getmember("bin/sh").linkname == "busybox"
    assert [each["RepoTags"] for each in manifest] == [[image.SHELL_IMAGE], [image.PAUSE_IMAGE]]
    assert [config["rootfs"]["diff_ids"] for config in configs] == [[f"sha256:{digest}"]] * 2


def test_template_pulls_no_image():
    (container,) = shell("true")["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["imagePullPolicy"]) == (image.SHELL_IMAGE, "Never")


def test_suite_says_what_is_not_built(tmp_path, monkeypatch, capsys):
    """CI leaves it out then; its own target fails."""
    monkeypatch.setenv("KRON_KUBE_DIR", str(tmp_path))
    for words, status, verdict in ([], 1, "FAIL"), (["--if-built"], 0, "LEFT OUT"):
        monkeypatch.setattr("sys.argv", ["e2e", *words])
        assert e2e.main() == status
        printed = capsys.readouterr().out
        assert printed.startswith(f"{verdict}: ")
        assert "kubelet" in printed
        assert "make kube NODE=1" in printed
