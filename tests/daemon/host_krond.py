"""A real krond of a host, with users' tables and a control socket, and other users who ask it."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.daemon.krond import BIN, Krond

# Asks one request after another. It imports nothing of Kron, because it is started often.
ASKER = """
import json, socket, sys
path, requests = json.load(sys.stdin)
answers = []
for words, text in requests:
    content = text and text.encode()
    fields = {"command": words[0], "arguments": words[1:]} | ({} if content is None else {"bytes": len(content)})
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(path)
        client.sendall(json.dumps(fields).encode() + b"\\n" + (content or b""))
        lines = [json.loads(line) for line in client.makefile("rb")]
    out, err = ("".join(line.get(name, "") for line in lines) for name in ("out", "err"))
    answers.append([lines[-1]["status"], out, err, [error["code"] for error in lines[-1]["errors"]]])
print(json.dumps(answers))
"""
NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--init-groups", "--")


def needs_other_user():
    """Skip a test that cannot become another user, or whose other user cannot run this Python."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    if subprocess.run([*NOBODY, BIN / "python", "-c", "import kron"], capture_output=True, check=False).returncode:
        pytest.skip("the user nobody cannot run this Python")


class Reply(NamedTuple):
    """What the daemon has answered: the exit status, both outputs and the codes of the errors."""

    status: int
    out: str
    err: str
    codes: list[str]


class HostKrond(Krond):
    """A daemon of the host, with everything but its socket in one folder that only root can read."""

    def __init__(self, folder: Path, *options: str, **env: str):
        super().__init__(folder, *options, **env)
        self.spool, self.open_folder = folder / "spool", Path(tempfile.mkdtemp(prefix="krond-"))
        self.open_folder.chmod(0o755)
        self.socket = self.open_folder / "krond.sock"

    def command(self, *more: str) -> list[str]:
        command = [word for word in super().command(*more) if word != "--user"]
        return [*command, "--spool", str(self.spool), "--socket", str(self.socket)]

    def close(self) -> None:
        super().close()
        shutil.rmtree(self.open_folder, ignore_errors=True)

    def ask_as_nobody(self, *requests) -> list[Reply]:
        """Send requests as nobody: lists of words, or an `install` with a table as its text."""
        pairs = [each if isinstance(each, tuple) else (each, None) for each in requests]
        done = subprocess.run(
            [*NOBODY, BIN / "python", "-ISc", ASKER],
            input=json.dumps([str(self.socket), pairs]),
            cwd="/",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [Reply(*answer) for answer in json.loads(done.stdout)]

    def install(self, text: str) -> Reply:
        """Install a table of nobody."""
        (reply,) = self.ask_as_nobody((["install", "-"], text))
        assert reply.status == 0, reply
        return reply

    def krontab(self, *words: str, answer: str = "", rights=NOBODY, **env: str) -> subprocess.CompletedProcess:
        """Run krontab through the socket, as nobody unless told otherwise."""
        command = [*rights, BIN / "krontab", *words, "--socket", str(self.socket)]
        settings = {"PATH": os.environ["PATH"], "LOGNAME": "root", "USER": "root", **env}
        return subprocess.run(
            command, input=answer, env=settings, cwd="/", capture_output=True, text=True, timeout=60, check=False
        )

    def as_root(self, *words: str, answer: str = "") -> subprocess.CompletedProcess:
        """Run krontab on the files of the daemon."""
        place = ["--config", str(self.tables), "--state", str(self.state), "--spool", str(self.spool)]
        return subprocess.run(
            [BIN / "krontab", *words, *place], input=answer, capture_output=True, text=True, timeout=60, check=False
        )
