"""Debian's cron on tables of this benchmark, in a mount namespace of its own: the host's tables stay as they are."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.krond.process import Process, starts_in

SETTLE_SECONDS = 5.0
HIDDEN = ("/etc/cron.d", "/var/spool/cron", "/run")  # an empty folder each, in the namespace


def measure(lines: int, due: int, idle_seconds: float) -> dict[str, float] | None:
    """Return cron's figures; None if cron is not installed or this user is not root."""
    binary = shutil.which("cron", path="/usr/sbin:/usr/bin")
    if binary is None or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        return None
    words = [sys.executable, "-m", __spec__.name if __spec__ else __name__, binary, str(lines), str(due)]
    done = subprocess.run(["unshare", "-m", *words, str(idle_seconds)], capture_output=True, text=True, timeout=900)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return None
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main(words: Sequence[str]) -> int:
    """Measure inside of the namespace, and print the figures as JSON."""
    binary, lines, due, idle_seconds = words[0], int(words[1]), int(words[2]), float(words[3])
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for folder in HIDDEN:
        subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
    crontabs = Path("/var/spool/cron/crontabs")
    crontabs.mkdir(mode=0o1730)
    tables = Path("/etc/cron.d")
    (tables / "idle").write_text("".join(f"{number % 60} 0 1 1 * root /bin/true\n" for number in range(lines)))
    with tempfile.TemporaryDirectory() as name:
        cron = subprocess.Popen([binary, "-f"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process = Process(cron.pid)
            time.sleep(SETTLE_SECONDS)
            figures = {"load_cpu": process.cpu(), "rss": process.rss()}
            figures["idle_cpu"] = process.cpu_percent(idle_seconds)
            if due:
                figures["last_start"] = _last_start(tables / "busy", Path(name) / "starts", due)
        finally:
            cron.kill()
            cron.wait()
    print(json.dumps(figures))
    return 0


def _last_start(table: Path, starts: Path, due: int) -> float:
    """Return the seconds from a full minute to the last start of that many lines."""
    minute = int(time.time()) // 60 * 60 + 120  # cron reads a new table at the next minute
    local = time.localtime(minute)
    line = f"{local.tm_min} {local.tm_hour} * * * root date +\\%s.\\%N >> {starts}\n"
    table.write_text(f'MAILTO=""\n{line * due}')
    end = minute + 120
    while len(starts_in(starts)) < due and time.time() < end:
        time.sleep(0.5)
    return max(starts_in(starts), default=end) - minute


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
