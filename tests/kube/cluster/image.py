"""Images for pods of tests, made from a static busybox: no registry is needed."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

BUSYBOX = Path("/bin/busybox")  # of the Debian package busybox-static
SHELL_IMAGE, PAUSE_IMAGE = "kron.test/shell:1", "kron.test/pause:1"
FOLDERS = ("bin", "dev", "etc", "proc", "sys", "tmp")
COMMANDS = ("cat", "date", "echo", "false", "sh", "sleep", "test", "true")
FOREVER = ["/bin/sleep", "2147483647"]


def write_images(path):
    """Write an archive with an image that has a shell, and with the image that every pod needs."""
    layer = _layer()
    digest = hashlib.sha256(layer).hexdigest()
    with tarfile.open(path, "w") as archive:
        _add(archive, f"{digest}/layer.tar", layer)
        manifest = []
        for name, command in ((SHELL_IMAGE, ["/bin/sh"]), (PAUSE_IMAGE, FOREVER)):
            config = _config(digest, command)
            file = f"{hashlib.sha256(config).hexdigest()}.json"
            _add(archive, file, config)
            manifest.append({"Config": file, "RepoTags": [name], "Layers": [f"{digest}/layer.tar"]})
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def _layer():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        for name in FOLDERS:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o777 if name == "tmp" else 0o755
            layer.addfile(folder)
        _add(layer, "bin/busybox", BUSYBOX.read_bytes(), 0o755)
        for name in COMMANDS:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            layer.addfile(link)
    return buffer.getvalue()


def _config(digest, command):
    body = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Cmd": command, "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created": "2026-01-01T00:00:00Z"}],
    }
    return json.dumps(body).encode()


def _add(archive, name, content, mode=0o644):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
