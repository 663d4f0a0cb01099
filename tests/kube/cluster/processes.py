"""Servers in a folder: started, stopped by their pids, and gone when the process that started them is gone."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

STOP_SECONDS = 15.0
# Each line that the watcher reads has the pids that live now, and further folders. Its input ends with the process that
# started it. A cgroup has no files to remove, and can be removed when the kernel has buried its processes.
WATCHER = """
while read -r line; do pids=${line%%;*}; folders=${line#*;}; done
[ -z "$pids" ] || kill -9 $pids 2>/dev/null
rm -rf "$0"
for folder in $folders; do
    case $folder in
        /sys/*) for _ in 1 2 3 4 5; do
                [ ! -e $folder ] || find $folder -depth -type d -exec rmdir {} + 2>/dev/null || sleep 1
            done ;;
        *) rm -rf $folder ;;
    esac
done
"""


class Processes:
    """Servers by name, with a log file each."""

    def __init__(self, prefix):
        memory = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=memory if memory.is_dir() else None))
        self.living, self.others = {}, []
        words = ["sh", "-c", WATCHER, str(self.folder)]
        self.watcher = subprocess.Popen(words, stdin=subprocess.PIPE, text=True, start_new_session=True)

    def start(self, name, *words, **environment):
        """Start a server."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.living[name] = subprocess.Popen(
                list(map(str, words)),
                cwd=self.folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._tell_watcher()

    def remove_at_end(self, *folders):
        """Let folders and cgroups be removed if the process that started the servers is killed."""
        self.others += folders
        self._tell_watcher()

    def stop(self, name, sign=signal.SIGTERM):
        """Stop a server; kill it if it does not end."""
        process = self.living.pop(name)
        process.send_signal(sign)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._tell_watcher()

    def close(self):
        """Stop the servers, the last one first, and remove the folder."""
        for name in reversed(list(self.living)):
            self.stop(name)
        self.watcher.stdin.close()
        self.watcher.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def until(self, condition, seconds, what):
        """Wait for a condition. Fail with the logs if it does not come, or if a server ends."""
        deadline = time.monotonic() + seconds
        while not condition():
            ended = [name for name, process in self.living.items() if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                reason = f"{', '.join(ended)} ended" if ended else f"not within {seconds:.0f} s"
                raise RuntimeError(f"{what}: {reason}\n" + "\n".join(map(self.log, ended or self.living)))
            time.sleep(0.1)

    def log(self, name):
        """The end of a server's log."""
        lines = (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join([f"-- {name}", *lines[-15:]])

    def _tell_watcher(self):
        pids = " ".join(str(process.pid) for process in self.living.values())
        self.watcher.stdin.write(f"{pids};{' '.join(map(str, self.others))}\n")
        self.watcher.stdin.flush()
