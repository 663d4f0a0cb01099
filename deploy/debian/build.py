"""Debian package of krond, built from the source tree without network: `make deb`.

    python -m deploy.debian.build [FOLDER]

The same source and SOURCE_DATE_EPOCH give the same file. Without SOURCE_DATE_EPOCH, the time of the last commit counts.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from deploy.debian.manual import ROOT, write_pages

from kron._version import __version__

FILES = Path(__file__).parent / "files"
LIBRARY = "usr/lib/python3/dist-packages"
PROGRAMS = {  # path in the package, and the function that it calls
    "usr/bin/kron": "kron.apps.cli",
    "usr/bin/krontab": "kron.apps.krontab.main",
    "usr/sbin/krond": "kron.apps.daemon.main",
}
PROGRAM = """\
#!/usr/bin/python3 -I
import sys

from {module} import main

sys.exit(main())
"""
SCRIPTS = ("postinst", "prerm", "postrm")
FOLDERS = {"etc/krond.d": 0o755, "var/lib/krond": 0o700, "var/spool/krond": 0o700}
COPIES = {
    ROOT / "deploy" / "krond" / "krond.service": "lib/systemd/system/krond.service",
    FILES / "krond.sysusers": "usr/lib/sysusers.d/krond.conf",
    FILES / "krond.tmpfiles": "usr/lib/tmpfiles.d/krond.conf",
    FILES / "copyright": "usr/share/doc/krond/copyright",
    FILES / "lintian-overrides": "usr/share/lintian/overrides/krond",
}


def build(folder: Path, epoch: int) -> Path:
    """Build the package into a folder, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"krond_{__version__}_all.deb"
    with tempfile.TemporaryDirectory(prefix="krond-deb-") as name:
        root = Path(name) / "root"
        _write_tree(root, datetime.fromtimestamp(epoch, UTC))
        _write_control(root)
        for entry in [root, *root.rglob("*")]:
            os.utime(entry, (epoch, epoch))
        words = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(path)]
        subprocess.run(words, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}, stdout=sys.stderr)
    return path


def _write_tree(root: Path, moment: datetime) -> None:
    root.mkdir(mode=0o755)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(ROOT / "src" / "kron", root / LIBRARY / "kron", ignore=ignored)
    for name, module in PROGRAMS.items():
        _write(root / name, PROGRAM.format(module=module).encode())
    for source, name in COPIES.items():
        _write(root / name, source.read_bytes())
    documents = root / "usr" / "share" / "doc" / "krond"
    _write(documents / "changelog.gz", _compressed(_changelog(moment).encode()))
    _write(documents / "NEWS.md.gz", _compressed((ROOT / "CHANGELOG.md").read_bytes()))
    with tempfile.TemporaryDirectory() as pages:
        for page in write_pages(Path(pages), f"{moment:%Y-%m-%d}"):
            target = root / "usr" / "share" / "man" / f"man{page.suffix[1:]}" / f"{page.name}.gz"
            _write(target, _compressed(page.read_bytes()))
    for entry in root.rglob("*"):
        is_program = entry.is_dir() or str(entry.relative_to(root)) in PROGRAMS
        entry.chmod(0o755 if is_program else 0o644)
    for name, mode in FOLDERS.items():
        (root / name).mkdir(parents=True)
        (root / name).chmod(mode)


def _write_control(root: Path) -> None:
    files = sorted(path for path in root.rglob("*") if path.is_file())
    size = sum(max(1, path.stat().st_size // 1024) for path in files)
    sums = [f"{_digest(path)}  {path.relative_to(root)}\n" for path in files]
    control = root / "DEBIAN"
    _write(control / "control", (FILES / "control").read_text().format(version=__version__, size=size).encode())
    _write(control / "md5sums", "".join(sums).encode())
    for name in SCRIPTS:
        _write(control / name, (FILES / name).read_bytes())
        (control / name).chmod(0o755)


def _changelog(moment: datetime) -> str:
    news = "See /usr/share/doc/krond/NEWS.md.gz."
    sign = f" -- The Kron authors <kron@kron.example>  {format_datetime(moment)}"
    return f"krond ({__version__}) unstable; urgency=medium\n\n  * {news}\n\n{sign}\n"


def _digest(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def _compressed(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def source_epoch() -> int:
    """Return SOURCE_DATE_EPOCH, or the time of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    words = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    os.umask(0o022)
    print(build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist"), source_epoch()))
