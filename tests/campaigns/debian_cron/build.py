"""The binary of Debian's cron with `shim.c`: built once from the source package, and kept in the cache of the user.

The package comes from the apt sources of this machine. Their lists and downloads are kept in a temporary folder, so the
apt state of the machine stays as it is. No step needs root.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from getpass import getuser
from pathlib import Path

SHIM = Path(__file__).with_name("shim.c")
SOURCES = ["cron.c", "database.c", "user.c", "entry.c", "job.c", "misc.c", "env.c", "compat.c"]
FLAGS = [
    *("-std=gnu89", "-w", "-O2", "-U_FORTIFY_SOURCE", "-I."),
    *("-DPOSIX", "-DDEBUGGING=0", '-DCRONDIR="."', '-DREBOOT_FILE="crond.reboot"', "-Wl,--wrap=load_database"),
]
WIDER = {  # of cron.h: cron multiplies minutes since 1970 by 60, and the int overflows in January 2038
    "typedef int time_min;": "typedef long time_min;",
    "#define SECONDS_PER_MINUTE 60": "#define SECONDS_PER_MINUTE 60L",
}
PATHS = {  # of pathnames.h, relative to the folder in which cron is started
    "SYSCRONTAB": "system-crontab",
    "SYSCRONDIR": "cron.d",
    "PIDDIR": "./",
}
TOOLS = {"apt-get": "apt", "dpkg-source": "dpkg-dev", "gcc": "gcc"}  # and the packages that have them
APT = Path("/etc/apt")


class Unavailable(Exception):
    """cron cannot be built on this machine; the message names what is missing."""


def cached() -> Path | None:
    """Return the binary in the cache that was built with this shim, or None."""
    return next(iter(sorted(cache().glob(f"cron-*-{_digest()}"))), None)


def built() -> Path:
    """Return the binary in the cache; build it first if it is not there.

    Raises:
        Unavailable: A tool, an apt source or the network is missing.
    """
    return cached() or _build()


def version(binary: Path) -> str:
    """Return the version of the Debian package, such as `3.0pl1-162`."""
    return binary.name.removeprefix("cron-").rpartition("-")[0]


def cache() -> Path:
    """Return the folder of the binary, which is outside of the repository."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kron-debian-cron"


def source_entries(text: str) -> str:
    """Return the text of an apt source file with the source packages of the same places.

    Args:
        text: Content of a `.list` file (one line per source) or of a `.sources` file (deb822).
    """
    text = re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.MULTILINE | re.IGNORECASE)
    return re.sub(r"^deb\s", "deb-src ", text, flags=re.MULTILINE)


def _build() -> Path:
    missing = [f"{tool} (package {package})" for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)}")
    with tempfile.TemporaryDirectory(prefix="kron-debian-cron-") as name:
        folder = _unpacked(Path(name))
        header = folder / "pathnames.h"
        header.write_text(_with_paths(header.read_text(encoding="utf-8")), encoding="utf-8")
        cron_header = folder / "cron.h"
        cron_header.write_text(_widened(cron_header.read_text(encoding="utf-8")), encoding="utf-8")
        _run(["gcc", *FLAGS, "-o", "cron.built", *SOURCES, str(SHIM)], folder)
        changelog = (folder / "debian" / "changelog").read_text(encoding="utf-8")
        target = cache() / f"cron-{changelog.partition('(')[2].partition(')')[0]}-{_digest()}"
        cache().mkdir(parents=True, exist_ok=True)
        shutil.copy2(folder / "cron.built", target.with_suffix(".new"))
        target.with_suffix(".new").replace(target)
    return target


def _unpacked(folder: Path) -> Path:
    """Return the folder of the source package, with Debian's patches applied."""
    parts, lists, downloads = folder / "parts", folder / "lists", folder / "downloads"
    for each in (parts, lists, downloads):
        each.mkdir()
    for path in [APT / "sources.list", *APT.glob("sources.list.d/*.list"), *APT.glob("sources.list.d/*.sources")]:
        if path.is_file():
            (parts / path.name).write_text(source_entries(path.read_text(encoding="utf-8")), encoding="utf-8")
    options = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": parts,
        "Dir::State::lists": lists,
        "Dir::Cache": downloads,
        "APT::Sandbox::User": getuser(),
    }
    apt = ["apt-get", "--quiet", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
    _run([*apt, "update"], folder, must_succeed=False)  # a source of this machine without source packages is no harm
    _run([*apt, "source", "cron"], folder)
    return next(path for path in folder.glob("cron-*") if path.is_dir())


def _with_paths(header: str) -> str:
    for name, path in PATHS.items():
        header = re.sub(rf"(define\s+{name})\s.*", rf'\1 "{path}"', header)
    return header


def _widened(header: str) -> str:
    for before, after in WIDER.items():
        if before not in header:
            raise Unavailable(f"cron.h has no {before!r}")
        header = header.replace(before, after)
    return header


def _run(command: list[str], folder: Path, *, must_succeed: bool = True) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    if must_succeed and done.returncode:
        raise Unavailable(f"{' '.join(command[:1] + command[-2:])} failed: {done.stderr.strip()[-500:]}")


def _digest() -> str:
    recipe = [SHIM.read_text(encoding="utf-8"), *FLAGS, *SOURCES, *PATHS, *PATHS.values(), *WIDER.values()]
    return hashlib.sha256("\n".join(recipe).encode()).hexdigest()[:12]
