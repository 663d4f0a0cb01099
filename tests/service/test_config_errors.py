"""Configuration errors: one message with the setting, its value and what is allowed; never a traceback or a secret."""

import pytest

from kron import KronError
from kron.apps.cli import main
from kron.apps.redacted import redacted
from kron.apps.service.config import Config
from kron.apps.service.config_reader import read_config
from tests.service.http import SECRET

WRONG = [
    ("STORE=postgress://kron:hunter2@db/kron", "STORE 'postgress://kron:…@db/kron' is not a store URL"),
    ("STORE=postgresql://kron:hunter2@db:99999/kron", "port '99999'"),
    ("STORE=sqlite:/no/such/folder/kron.db", "folder that does not exist"),
    ("STORE=nonsense", "STORE 'nonsense' is not a store URL"),
    ("WEBHOOK_SECRET=hunter2", "WEBHOOK_SECRET is malformed"),
    ("WEBHOOK_ALLOWED_NETWORKS=10.0.0.0/8,10.0.0.300/8", "WEBHOOK_ALLOWED_NETWORKS '10.0.0.300/8' is not a network"),
    ("EXECUTOR_URL=nowhere", "EXECUTOR_URL 'nowhere' is not a usable URL"),
    ("EXECUTOR_URL=http://host:99999/", "EXECUTOR_URL 'http://host:99999/'"),
    ("PUBLIC_URL=ftp://host/", "PUBLIC_URL 'ftp://host/'"),
    ("ALLOWED_TIMEZONES=Europe/Pariss", "ALLOWED_TIMEZONES 'Europe/Pariss' is not a time zone"),
    ("LISTEN=127.0.0.1:99999", "LISTEN '127.0.0.1:99999' has a port that is out of range"),
    ("LISTEN=8080", "LISTEN '8080' is not an address"),
    ("LISTEN=203.0.113.7:8080", "AUTH"),
    ("TICK_MS=" + "9" * 5000, "TICK_MS"),
    ("TICK_MS=5", "TICK_MS 5 is out of range (10-60000)"),
    ("MAX_TOKEN_LIFETIME_MS=0", "MAX_TOKEN_LIFETIME_MS 0 is out of range"),
    ("WORKFLOW_STORE=/no/such/folder", "WORKFLOW_STORE '/no/such/folder' is not a folder"),
    ("WORKFLOW_STORE=store:", "WORKFLOW_STORE 'store:' is available with PostgreSQL only"),
    ("AUDIT_LOG=/no/such/folder/log", "AUDIT_LOG"),
    ("TLS_CERTIFICATE=/no/such.pem", "TLS_CERTIFICATE '/no/such.pem' is not a file"),
    ("TARGET_LIMITS=hooks.example.com=10,5/m", "TARGET_LIMITS '5/m' is neither a number of launches (1-10000) nor"),
    ("TARGET_LIMITS=https://x.com=5", "write the name alone: x.com"),
    ("TARGET_LIMITS=5/s", "TARGET_LIMITS '5/s' names no target"),
    ("BREAKER_MAX_HOLD_MS=5000", "BREAKER_MAX_HOLD_MS 5000 is shorter than BREAKER_HOLD_MS (10000)"),
    ("BREAKER_FAILURES=1001", "BREAKER_FAILURES 1001 is out of range (0-1000)"),
    ("TICKMS=5", "unknown setting TICKMS"),
    ("WEBHOK_SECRET=hunter2", "did you mean 'WEBHOOK_SECRET'?"),
]


@pytest.mark.parametrize(("setting", "message"), WRONG, ids=[each[0][:40] for each in WRONG])
def test_serve_with_wrong_setting_prints_one_message(setting, message, capsys):
    assert main(["serve", "--auth", "none", "--set", setting]) == 1
    said = capsys.readouterr().err
    assert message in said, said
    assert said.startswith("error[CONFIG]: ")
    assert len(said.splitlines()) == 2, "the problem, and what to do"
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[service]\nwebhok_secret = 'hunter2'\n", "did you mean 'WEBHOOK_SECRET'?"),
        ("service = 5\n", "'service' is not a table"),
        ("[service]\nstore = 5\n", "STORE '5' is not a string"),
        ("[service\n", "cannot read the settings file"),
    ],
)
def test_serve_with_wrong_file_prints_one_message(text, message, tmp_path, capsys):
    path = tmp_path / "kron.toml"
    path.write_text(text)
    assert main(["serve", "--auth", "none", "--config", str(path)]) == 1
    said = capsys.readouterr().err
    assert message in said, said
    assert "hunter2" not in said


def test_tls_files_that_do_not_match_are_named(tmp_path, capsys):
    path = tmp_path / "x.pem"
    path.write_text("nothing")
    words = ["--set", f"TLS_CERTIFICATE={path}", "--set", f"TLS_KEY={path}"]
    assert main(["serve", "--auth", "none", *words]) == 1
    assert "TLS_CERTIFICATE" in capsys.readouterr().err


def test_address_in_use_is_named(capsys):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert main(["serve", "--auth", "none", "--listen", address]) == 1
    assert f"LISTEN '{address}' is not available" in capsys.readouterr().err


def test_store_that_cannot_be_reached_is_one_message(capsys):
    assert main(["serve", "--auth", "none", "--store", "postgresql://kron:hunter2@127.0.0.1:9/kron"]) == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.startswith("error[")
    assert "hunter2" not in said


def test_unknown_variable_is_named_with_a_hint(monkeypatch, capsys):
    monkeypatch.setenv("KRON_WEBHOK_SECRET", SECRET)
    assert main(["serve", "--auth", "none", "--check"]) == 0
    said = capsys.readouterr().err
    assert "warning[CONFIG]: unknown variable KRON_WEBHOK_SECRET" in said
    assert "\n  hint: did you mean 'KRON_WEBHOOK_SECRET'?\n" in said
    assert SECRET not in said


def test_check_prints_settings_and_sources_without_secrets(monkeypatch, capsys):
    monkeypatch.setenv("KRON_WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("TICK_MS", "500")
    assert main(["serve", "--auth", "none", "--check", "--store", "postgresql://kron:hunter2@db/kron"]) == 0
    said = capsys.readouterr().out
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines()[1:]}
    assert rows["TICK_MS"] == ["500", "environment"]
    assert rows["STORE"] == ["postgresql://kron:…@db/kron", "flag"]
    assert rows["WEBHOOK_SECRET"] == ["(set)", "environment"]
    assert rows["MISFIRE_GRACE_MS"] == ["60000", "default"]
    assert "hunter2" not in said
    assert SECRET not in said


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://kron:hunter2@db/kron",
        "postgresql://kron:hun@hunter2@db/kron",
        "postgres//kron:hunter2@db/kron",
        "kron:hunter2@db",
        "postgresql://db/kron?password=hunter2",
        "host=db password=hunter2",
    ],
)
def test_redacted_never_shows_a_password(url):
    assert "hunter2" not in redacted(url)


def test_misfire_grace_default_exceeds_shard_lease():
    config = read_config({"KRON_AUTH": "none"}, {})
    assert config.misfire_grace_ms == 60_000 > Config().shard_lease_ms


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"SHARD_LEASE_MS": "90000"}, "lower SHARD_LEASE_MS"),
        ({"LOOKAHEAD_MS": "500"}, "lower TICK_MS"),
        ({"SHARD_LEASE_MS": "1500"}, "lower TICK_MS"),
    ],
)
def test_settings_that_contradict_each_other_name_both(given, hint):
    with pytest.raises(KronError) as refused:
        read_config({"AUTH": "none"}, given)
    assert refused.value.hint == f"raise it, or {hint}"
