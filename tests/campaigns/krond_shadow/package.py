"""The cron of Debian's binary package, unpacked in the cache of the user. Nothing is installed."""

import subprocess
import tempfile
from pathlib import Path

from tests.campaigns.debian_cron.build import Unavailable, cache


def cron_binary() -> Path:
    """Return the program; download and unpack its package first if it is not in the cache.

    Raises:
        Unavailable: apt or the network is missing.
    """
    folder = cache() / "package"
    if not (folder / "usr/sbin/cron").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="kron-cron-package-") as name:
            _run(["apt-get", "download", "cron"], Path(name))
            _run(["dpkg-deb", "--extract", str(next(Path(name).glob("cron_*.deb"))), str(folder)], Path(name))
    return folder / "usr/sbin/cron"


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    except FileNotFoundError as error:
        raise Unavailable(f"not installed: {error.filename}") from None
    if done.returncode:
        raise Unavailable(f"{' '.join(command[:2])} failed: {done.stderr.strip()[-300:]}")
