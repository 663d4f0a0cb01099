"""Settings: by a file, by the environment, by flags; and the process that takes them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kron.apps.service.config import Config
from kron.apps.service.config_reader import read_config
from kron.errors import KronError
from tests.service.http import SECRET, Service, until, workflow

OPEN = {"KRON_AUTH": "none"}


def read(path="", flags=None, **environment):
    return read_config({**OPEN, **environment}, flags or {}, path)


@pytest.mark.req(
    "SVC-CFG-TICK", "SVC-CFG-LOOKAHEAD", "SVC-CFG-OVERLAP", "SVC-CFG-CATCHUP", "SVC-CFG-JITTER", "SVC-CFG-MAXCATCHUP"
)
def test_the_names_and_defaults_of_the_document():
    defaults = {
        "TICK_MS": 1000,
        "LOOKAHEAD_MS": 60000,
        "MAX_CATCHUP_PER_TICK": 100,
        "DEFAULT_OVERLAP_POLICY": "skip",
        "DEFAULT_CATCHUP_POLICY": "none",
        "DEFAULT_JITTER_MS": 0,
    }
    others = {"TICK_MS": 500, "LOOKAHEAD_MS": 9000, "MAX_CATCHUP_PER_TICK": 7, "DEFAULT_OVERLAP_POLICY": "queue"}
    others |= {"DEFAULT_CATCHUP_POLICY": "spread", "DEFAULT_JITTER_MS": 250}
    for name, value in defaults.items():
        assert getattr(read(), name.lower()) == value
        for variable in (name, f"KRON_{name}"):
            assert getattr(read(**{variable: str(others[name])}), name.lower()) == others[name]


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path):
    path = tmp_path / "kron.toml"
    path.write_text('[service]\ntick_ms = 100\nlookahead_ms = 7000\nstore = "memory:"\nallowed_timezones = ["UTC"]\n')
    found = read(str(path), {"tick-ms": "300"}, TICK_MS="200", LOOKAHEAD_MS="8000")
    assert (found.tick_ms, found.lookahead_ms, found.store, found.allowed_timezones) == (300, 8000, "memory:", ("UTC",))
    assert read(KRON_ALLOWED_TIMEZONES="UTC, Asia/Tokyo").allowed_timezones == ("UTC", "Asia/Tokyo")


@pytest.mark.req("SVC-SEC-BOUND")
@pytest.mark.parametrize(
    ("environment", "word"),
    [
        ({"TICK_MS": "soon"}, "TICK_MS"),
        ({"TICK_MS": "-5"}, "TICK_MS"),
        ({"TICK_MS": "0"}, "TICK_MS"),
        ({"LOOKAHEAD_MS": "999"}, "LOOKAHEAD_MS"),
        ({"LOOKAHEAD_MS": "86400000"}, "LOOKAHEAD_MS"),
        ({"LOOKAHEAD_MS": "3600001"}, "LOOKAHEAD_MS"),
        ({"MAX_CATCHUP_PER_TICK": "0"}, "MAX_CATCHUP"),
        ({"MAX_CATCHUP_PER_TICK": "10001"}, "MAX_CATCHUP"),
        ({"DEFAULT_OVERLAP_POLICY": "never"}, "OVERLAP"),
        ({"CRON_SECONDS_POSITION": "middle"}, "SECONDS"),
        ({"MISFIRE_GRACE_MS": "15000"}, "MISFIRE_GRACE_MS 15000 does not exceed SHARD_LEASE_MS .15000"),
        ({"MISFIRE_GRACE_MS": "0"}, "MISFIRE_GRACE_MS"),
        ({"KRON_SHARD_LEASE_MS": "60000"}, "MISFIRE_GRACE_MS 60000 does not exceed SHARD_LEASE_MS .60000"),
        ({"KRON_LISTEN": "0.0.0.0:80"}, "AUTH"),
        ({"KRON_AUTH": "jwt"}, "JWKS"),
        ({"KRON_AUTH": "jwt", "KRON_JWKS": "http://x", "KRON_ISSUER": "i"}, "JWKS"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(environment, word):
    with pytest.raises(KronError, match=word):
        read(**environment)


def test_a_secret_is_not_shown():
    assert "whsec" not in repr(Config(webhook_secret="whsec_abc"))


@pytest.mark.req("SVC-PC-BOOT")
def test_the_process_serves_keeps_its_records_and_stops_when_told(tmp_path):
    env = {**os.environ, **OPEN, "TICK_MS": "50", "KRON_STORE": f"sqlite:{tmp_path}/kron.db"}
    env |= {
        "KRON_WEBHOOK_SECRET": SECRET,
        "KRON_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "KRON_WEBHOOK_ALLOW_PLAIN_HTTP": "true",
    }
    port = free_port()
    command = [str(Path(sys.executable).parent / "kron"), "serve", "--listen", f"127.0.0.1:{port}"]
    for turn in range(2):
        with (tmp_path / "log").open("a") as log:
            process = subprocess.Popen(command, env=env, stderr=log)
            service = Service(port, None)
            try:
                until(lambda service=service: ready(service), 30)
                if turn == 0:
                    service.post("/schedules/upsert", workflow(cron_expr="* * * * * *"))
                    hook = {"schedule": "* * * * * *", "target": "http://127.0.0.1:9/"}
                    assert service.put("/v1/schedules/hook", hook).status == 200
                until(lambda service=service: service.get("/schedules/s1/runs").json["runs"])
                until(lambda: '"event": "launch_completed"' in (tmp_path / "log").read_text())
                assert service.get("/schedules/s1").json["user_id"] == "u1"
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(30)
    assert SECRET.removeprefix("whsec_") not in (tmp_path / "log").read_text()


def ready(service):
    try:
        return service.get("/readyz").status == 200
    except OSError:
        return False


def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
