"""A host with Debian's cron: a mount namespace of its own, with its own /etc, /run, /var/spool and /dev/log.

    unshare --mount --propagation private python -m tests.campaigns.krond_shadow.cron_host FOLDER CRON

It reads one order per line from its standard input: `start`, `kill`, `stop` (SIGSTOP), `continue` or `end`. The
messages of cron go to FOLDER/syslog, in the traditional format: local time without a year.
"""

import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
HEAD = re.compile(r"<[0-9]+>([A-Z][a-z]{2} [ 0-9]{2} [0-9:]{8}) (.*)", re.DOTALL)  # as the C library writes it


def mount(*words: str | Path) -> None:
    subprocess.run(["mount", *map(str, words)], check=True)


def prepare(folder: Path) -> None:
    """Give this namespace what cron reads and writes. The crontab is FOLDER/crontab."""
    own = folder / "etc"
    subprocess.run(["cp", "--archive", "/etc", own], check=True)
    (own / "cron.d").mkdir(exist_ok=True)
    for path in (own / "cron.d").glob("*"):
        path.unlink()
    (own / "crontab").write_text("")
    (own / "crontab").chmod(0o644)
    crontab = own / "cron.d" / "campaign"
    crontab.write_bytes((folder / "crontab").read_bytes())
    crontab.chmod(0o644)
    mount("--bind", own, "/etc")
    for path in ("/run", "/var/spool"):
        mount("-t", "tmpfs", "tmpfs", path)
    Path("/var/spool/cron/crontabs").mkdir(parents=True)
    devices = folder / "dev"
    devices.mkdir()
    mount("-t", "tmpfs", "tmpfs", devices)
    for name in DEVICES:
        (devices / name).touch()
        mount("--bind", f"/dev/{name}", devices / name)
    mount("--rbind", devices, "/dev")


def write_log(path: Path) -> None:
    """Write the messages that arrive at /dev/log, until the process ends."""
    host = socket.gethostname()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log, path.open("a", encoding="utf-8") as file:
        log.bind("/dev/log")
        Path("/dev/log").chmod(0o666)
        print("ready", flush=True)
        while True:
            match = HEAD.match(log.recv(65_536).decode("utf-8", "surrogateescape").rstrip("\0\n"))
            if match:
                print(f"{match[1]} {host} {match[2]}", file=file, flush=True)


def main() -> int:
    folder, binary, cron = Path(sys.argv[1]), sys.argv[2], None
    prepare(folder)
    threading.Thread(target=write_log, args=(folder / "syslog",), daemon=True).start()
    for order in map(str.strip, sys.stdin):
        if order == "start":
            cron = subprocess.Popen([binary, "-f"], env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        elif order == "kill":
            cron.kill()
            cron.wait()
        elif order == "end":
            break
        else:
            cron.send_signal({"stop": signal.SIGSTOP, "continue": signal.SIGCONT}[order])
    if cron is not None:
        cron.kill()
        cron.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
