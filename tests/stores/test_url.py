"""Store URLs that cannot be read: the message says what to write, and never shows a part of the password."""

import logging
import subprocess
import sys

import pytest

from kron import KronError, Scheduler
from kron.stores.postgres.connection import address

SECRETS = ["100%sure", "hun ter2", "hun@ter2", "s3c/ret", "s3cr3t@["]
COMMANDS = [["jobs"], ["worker"], ["why", "x"], ["migrate"], ["doctor"], ["serve", "--auth", "none"]]
PARTS = ["sure", "hun", "ter2", "s3c", "ret"]


@pytest.mark.parametrize("secret", SECRETS)
def test_no_part_of_a_password_is_shown(secret, caplog):
    caplog.set_level(logging.DEBUG)
    url = f"postgresql://u:{secret}@127.0.0.1:1/x" if "[" not in secret else f"postgresql://u:{secret}bad/x"
    with pytest.raises(KronError, match="the store URL cannot be read") as refused, Scheduler(url):
        pass
    assert refused.value.__cause__ is None
    assert "write % as %25" in refused.value.hint
    texts = [str(refused.value), caplog.text]
    for command in COMMANDS if secret == SECRETS[0] else COMMANDS[:2]:
        full = [sys.executable, "-m", "kron", *command, "--store", url]
        done = subprocess.run(full, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode != 0
        texts.append(done.stdout + done.stderr)
    shown = "\n".join(texts)
    assert not [part for part in PARTS if part in shown.replace("return", "")], shown


@pytest.mark.parametrize("password", ["100%25sure", "hun%20ter2", "hun%40ter2", "s3c%2Fret"])
def test_encoded_passwords_are_read(password):
    assert "password=" in address(f"postgresql://u:{password}@127.0.0.1:1/x?schema=other")


def test_unknown_parameter_is_named():
    with pytest.raises(KronError, match="PostgreSQL has no parameter 'bogus'"):
        address("postgresql://u@h/x?bogus=1")


def test_refused_connection_does_not_claim_that_something_was_sent():
    with pytest.raises(KronError, match="Connection refused") as refused, Scheduler("postgresql://u@127.0.0.1:1/x"):
        pass
    assert refused.value.hint == "check that the database is reachable"
