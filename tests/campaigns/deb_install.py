"""The Debian package in a new Debian system: `make deb-install`.

    python -m tests.campaigns.deb_install

It is installed, its krond runs a command, and it is removed and purged. It needs root, mmdebstrap and a Debian archive.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from deploy.debian.build import build, source_epoch

SUITE = "bookworm"
TABLE = 'plus: * * * * * * @policy(deadline=30s) name=tick command="date >> /root/ticks" stdout=discard\n'
PROGRAMS = ("/usr/bin/kron", "/usr/bin/krontab", "/usr/sbin/krond")
FOLDERS = ("/etc/krond.d", "/var/lib/krond", "/var/spool/krond")
PAGES = ("man1/kron.1.gz", "man1/krontab.1.gz", "man5/krontab.5.gz", "man8/krond.8.gz")


class System:
    """A Debian system in a folder. Programs run in it with a process list of their own."""

    def __init__(self, root: Path):
        self.root, self.checks = root, 0
        words = ["mmdebstrap", "--variant=minbase", "--include=python3", SUITE, str(root)]
        subprocess.run(words, check=True, capture_output=True)

    def run(self, script: str) -> subprocess.CompletedProcess:
        inside = f'mount -t proc proc {self.root}/proc && exec chroot {self.root} /bin/sh -c "$0"'
        words = ["unshare", "-m", "-p", "--fork", "--kill-child", "/bin/sh", "-c", inside, script]
        return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)

    def path(self, name: str) -> Path:
        return self.root / name.lstrip("/")

    def check(self, text: str, is_true: bool, more: object = "") -> None:
        print(f"{'ok' if is_true else 'FAILED'}: {text}", flush=True)
        self.checks += 1
        if not is_true:
            raise SystemExit(f"FAIL: {text}: {more}")


def installed(system: System) -> None:
    done = system.run("dpkg -i /krond.deb")
    system.check("dpkg -i succeeds", done.returncode == 0, done.stdout + done.stderr)
    system.check("the programs can be run", all(system.path(name).stat().st_mode & 0o111 for name in PROGRAMS))
    system.check("there are manual pages", all(system.path(f"/usr/share/man/{page}").exists() for page in PAGES))
    modes = [oct(system.path(name).stat().st_mode & 0o777) for name in FOLDERS]
    system.check("the folders have their modes", modes == ["0o755", "0o700", "0o700"], modes)
    system.check("there is a group krond", "\nkrond:" in system.path("/etc/group").read_text())
    version = system.run("kron --version")
    system.check("kron runs with Debian's Python alone", version.returncode == 0, version.stderr)


def running(system: System) -> None:
    table = system.path("/etc/krond.d/ticks")
    table.write_text(TABLE)
    table.chmod(0o644)
    dry = system.run("krond --dry-run")
    system.check("krond --dry-run accepts the table", dry.returncode == 0 and "tick" in dry.stdout, dry.stderr)
    script = """
        krond 2> /root/log & pid=$!
        for _ in $(seq 300); do [ -s /root/ticks ] && break; sleep 0.1; done
        krontab status > /root/status; kill $pid; wait $pid
    """
    done = system.run(script)
    log = system.path("/root/log").read_text()
    system.check("krond ends with status 0 after SIGTERM", done.returncode == 0, done.stderr + log)
    system.check("krond has run a command", system.path("/root/ticks").stat().st_size > 0, log)
    status = system.path("/root/status").read_text()
    system.check("krontab status knows the table", "ticks" in status, status)
    audit = system.run("kron audit --store sqlite:/var/lib/krond/state.db")
    system.check("each period has an outcome", audit.returncode == 0, audit.stdout + audit.stderr)


def removed(system: System) -> None:
    done = system.run("dpkg -r krond")
    system.check("dpkg -r succeeds", done.returncode == 0, done.stdout + done.stderr)
    system.check("the programs are gone", not any(system.path(name).exists() for name in PROGRAMS))
    library = system.path("/usr/lib/python3/dist-packages/kron")
    system.check("nothing of the library is left", not library.exists(), list(library.rglob("*"))[:5])
    system.check("the tables stay", system.path("/etc/krond.d/ticks").exists())
    system.check("the records stay", system.path("/var/lib/krond/state.db").exists())
    done = system.run("dpkg --purge krond")
    system.check("dpkg --purge succeeds", done.returncode == 0, done.stdout + done.stderr)
    system.check("the records are gone", not system.path("/var/lib/krond").exists())
    system.check("an empty spool is gone", not system.path("/var/spool/krond").exists())
    system.check("a table that a person wrote stays", system.path("/etc/krond.d/ticks").exists())


def main() -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="krond-debian-") as name:
        package = build(Path(name), source_epoch())
        system = System(Path(name) / "root")
        system.path("/krond.deb").write_bytes(package.read_bytes())
        installed(system)
        running(system)
        removed(system)
    print(f"PASS: {system.checks} checks in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
