"""A real PostgreSQL for tests: its own files, its own port, and gone when they are over.

`KRON_TEST_POSTGRES_BIN` names the folder of other binaries, such as those of a newer version.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg

from kron.stores.postgres.migrate import migrate

BINARIES = Path(os.environ.get("KRON_TEST_POSTGRES_BIN", "/usr/lib/postgresql/15/bin"))
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "shared_buffers": "64MB"}


def connect(url, **options):
    """A connection for a test's own SQL. Kron's never rely on the search_path of a session; this one does."""
    return psycopg.connect(url, options="-c search_path=public,kron", **options)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server that is running. Each `database()` is new, and has the tables of Kron."""

    def __init__(self, settings=None, folder=None):
        memory = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(prefix="kron-pg-", dir=folder or (memory if memory.is_dir() else None)))
        self.data, self.port, self.numbers = self.folder / "data", free_port(), count()
        self.settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": str(self.folder)}
        self.settings |= FAST if settings is None else settings
        self.folder.chmod(0o755)
        if os.getuid() == 0:  # which PostgreSQL refuses to run as
            shutil.chown(self.folder, "postgres", "postgres")
        self.run(
            "initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"
        )
        self.watch = self.watched()
        self.start()
        self.template = None

    def command(self, program, *words):
        demoted = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        return [*demoted, str(BINARIES / program), *map(str, words)]

    def run(self, program, *words):
        command = self.command(program, *words)
        subprocess.run(command, cwd="/", check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)

    def watched(self):
        """A process that ends the server when this one lets go of it, be it by being killed."""
        script = 'cat; "$@" >/dev/null 2>&1; rm -rf "$0"'
        stop = self.command("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")
        command = ["sh", "-c", script, str(self.folder), *stop]
        return subprocess.Popen(command, cwd="/", stdin=subprocess.PIPE, start_new_session=True)

    def start(self):
        options = " ".join(f"-c {name}={value}" for name, value in {"port": self.port, **self.settings}.items())
        self.run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "-o", options, "start")

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def url(self, database="postgres", user="postgres"):
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def sql(self, text, database="postgres", *values, user="postgres"):
        """What a statement finds."""
        with connect(self.url(database, user), autocommit=True) as connection:
            found = connection.execute(text, values or None)
            return found.fetchall() if found.description else []

    def empty(self):
        """The name of a new database without tables."""
        name = f"empty{next(self.numbers)}"
        self.sql(f"CREATE DATABASE {name}")
        return name

    def database(self):
        """The name of a new database with the tables of Kron."""
        if self.template is None:
            self.template = self.empty()
            asyncio.run(migrate(self.url(self.template)))
        name = f"kron{next(self.numbers)}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE {self.template} STRATEGY file_copy")
        return name

    def index_names(self, database):
        """Give a database, by its name or URL, the index for the search inside names, as an administrator does."""
        name = database.rpartition("/")[2]
        self.sql("CREATE EXTENSION pg_trgm", name)
        asyncio.run(migrate(self.url(name)))

    def drop(self, name):
        self.sql(f"DROP DATABASE {name} WITH (FORCE)")

    def close(self):
        self.watch.stdin.close()
        self.watch.wait()


@contextmanager
def running(settings=None, folder=None):
    """A server, for as long as it takes."""
    server = Server(settings, folder)
    try:
        yield server
    finally:
        server.close()
