"""Two members of a PostgreSQL under Patroni, with etcd to agree by: real processes, to be killed and started again.

A standby reaches its leader on a road that can be blocked, so that it may fall behind; workers go to the servers
themselves. All of it ends with the process that made it.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import psycopg

from kron.stores.postgres.migrate import migrate
from tests.campaigns.chaos.proxy import Proxy
from tests.postgres import BINARIES, connect, free_port

NAMES = ("a", "b")
PROGRAMS = ("etcd", "patroni")
AGREEMENT = {  # seconds; as short as Patroni recommends, so that a failover takes less than 30
    "ttl": 20,
    "loop_wait": 2,
    "retry_timeout": 3,
    "maximum_lag_on_failover": 64 << 20,
}
SERVER = {"max_connections": 100, "shared_buffers": "128MB", "wal_log_hints": "on", "fsync": "on"}


def available():
    """Whether this machine has what it takes."""
    return all(map(shutil.which, PROGRAMS)) and (BINARIES / "pg_rewind").exists()


class Pair:
    """Patroni's cluster of two. `synchronous`: a commit has reached the standby before anybody is told of it."""

    def __init__(self, *, synchronous):
        self.synchronous = synchronous
        self.folder = Path(tempfile.mkdtemp(prefix="kron-pair-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        self.folder.chmod(0o755)
        self.store, self.peer = free_port(), free_port()
        self.ports = {name: free_port() for name in NAMES}
        self.desks = {name: free_port() for name in NAMES}  # where a member answers questions
        self.roads, self.running = {}, {}

    async def open(self):
        """Start everything; when this returns, there is a leader, and a standby that follows it."""
        self._etcd()
        for name in NAMES:
            self.roads[name] = await Proxy(self.ports[name]).open()
            self.start(name)
            await self.until(lambda: self.leader() is not None)  # so that `a` is the first
        await self.until(self.whole)
        await _apart(lambda: self.sql("CREATE DATABASE kron", "postgres"))
        await migrate(self.url("kron"))
        await self.until(self.whole)
        return self

    def _etcd(self):
        client, peer = f"http://127.0.0.1:{self.store}", f"http://127.0.0.1:{self.peer}"
        words = ["--data-dir", self.folder / "etcd", "--listen-client-urls", client, "--advertise-client-urls", client]
        words += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        self._spawn("etcd", "KILL", ["etcd", *words, "--initial-cluster", f"default={peer}"], owned=False)

    def start(self, name):
        """Start a member: Patroni, which starts its PostgreSQL, and makes it follow the leader if there is one."""
        home = self.folder / name
        home.mkdir(exist_ok=True)
        home.chmod(0o755)
        if os.getuid() == 0:
            shutil.chown(home, "postgres", "postgres")
        path = self.folder / f"{name}.json"  # which is YAML too
        path.write_text(json.dumps(self._settings(name, home)), encoding="utf-8")
        self._spawn(name, "TERM", ["patroni", path])

    def _settings(self, name, home):
        desk, port = f"127.0.0.1:{self.desks[name]}", self.ports[name]
        trust = ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
        server = {"use_pg_rewind": True, "remove_data_directory_on_rewind_failure": True, "parameters": SERVER}
        return {
            "scope": "kron",
            "name": name,
            "restapi": {"listen": desk, "connect_address": desk},
            "etcd3": {"host": f"127.0.0.1:{self.store}"},
            "bootstrap": {
                "dcs": {**AGREEMENT, "synchronous_mode": self.synchronous, "postgresql": server},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, {"auth": "trust"}],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{port}",
                "connect_address": f"127.0.0.1:{self.roads[name].own}",
                "data_dir": str(home / "data"),
                "bin_dir": str(BINARIES),
                "pgpass": str(home / "pass"),
                "pg_hba": trust,
                "parameters": {"unix_socket_directories": str(home)},
                "authentication": {"superuser": {"username": "postgres"}, "replication": {"username": "follower"}},
            },
        }

    def _spawn(self, name, last, words, *, owned=True):
        """A process that is told so when this one ends. From the main thread only: a signal is sent when that ends."""
        demoted = ["--reuid", "postgres", "--regid", "postgres", "--init-groups"] if owned and os.getuid() == 0 else []
        command = ["setpriv", *demoted, "--pdeathsig", last, *map(str, words)]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", start_new_session=True)

    def kill(self, name):
        """End a member at once: its Patroni, its PostgreSQL and all that belongs to them."""
        doomed = [self.running[name].pid, *self._server(name)]
        for pid in doomed:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.running.pop(name).wait()

    def _server(self, name):
        """The processes of a member's PostgreSQL, the first of them first."""
        path = self.folder / name / "data" / "postmaster.pid"
        if not path.exists():
            return []
        first = int(path.read_text(encoding="ascii").split()[0])
        return [first, *(pid for pid, parent in _parents() if parent == first)]

    def members(self):
        """What the members say of one another: name, role and state; nothing if nobody answers."""
        for name in NAMES:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.desks[name]}/cluster", timeout=2) as answer:
                    return {each["name"]: (each["role"], each["state"]) for each in json.load(answer)["members"]}
            except OSError:
                continue
        return {}

    def leader(self):
        """The name of the member that takes writes, if one does."""
        leaders = [name for name, (role, state) in self.members().items() if role == "leader" and state == "running"]
        return leaders[0] if leaders else None

    def whole(self):
        """Whether a standby follows; under synchronous replication, whether every commit waits for it."""
        if self.leader() is None:
            return False
        if self.synchronous:
            return any(role == "sync_standby" for role, _ in self.members().values())
        try:
            return self.sql("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", "postgres") == [(1,)]
        except psycopg.OperationalError:
            return False  # it leads, and takes no writes yet

    async def until(self, holds, seconds=90):
        """Wait until something holds; how long that took."""
        began = time.monotonic()
        while not await _apart(holds):
            if time.monotonic() - began > seconds:
                raise TimeoutError(f"{holds.__name__} after {seconds} s: {self.members()}, see {self.folder}")
            await asyncio.sleep(0.2)
        return time.monotonic() - began

    def url(self, database):
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports.values())
        return f"postgresql://postgres@{hosts}/{database}?target_session_attrs=read-write"

    def sql(self, text, database, *values):
        """What a statement finds, on the leader."""
        with connect(self.url(database), autocommit=True) as connection:
            found = connection.execute(text, values or None)
            return found.fetchall() if found.description else []

    async def close(self):
        for name in NAMES:
            if name in self.running:
                self.kill(name)
        if "etcd" in self.running:
            self.running["etcd"].kill()
            self.running["etcd"].wait()
        for road in self.roads.values():
            await road.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _parents():
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        yield int(path.parent.name), int(fields[1])


async def _apart(deed):
    """Do it without holding up the roads."""
    return await asyncio.get_running_loop().run_in_executor(None, deed)
