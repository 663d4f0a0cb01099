"""A real pgbouncer in transaction mode before a PostgreSQL, for tests; gone when they are over."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from tests.postgres import free_port

SETTINGS = """\
[databases]
* = host=127.0.0.1 port={server} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
server_reset_query =
logfile = {folder}/log
"""
PROGRAM = shutil.which("pgbouncer") or ("/usr/sbin/pgbouncer" if Path("/usr/sbin/pgbouncer").exists() else None)


@contextmanager
def pooling(server, size=2):
    """The port of a pooler that shares so few connections among all who ask, transaction by transaction."""
    folder = Path(tempfile.mkdtemp(prefix="kron-pooler-"))
    folder.chmod(0o755)
    own, settings = free_port(), folder / "settings.ini"
    settings.write_text(SETTINGS.format(server=server.port, own=own, size=size, folder=folder), encoding="ascii")
    demoted = []
    if os.getuid() == 0:  # which it refuses to run as
        shutil.chown(folder, "postgres", "postgres")
        demoted = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", "--pdeathsig", "TERM"]
    process = subprocess.Popen([*demoted, PROGRAM, "-q", str(settings)], cwd="/", stderr=subprocess.DEVNULL)
    try:
        _await(own)
        yield own
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def _await(port, seconds=10):
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
