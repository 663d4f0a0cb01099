"""Who asks through the control socket, and what that user may do."""

import os
import socket
from pathlib import Path

import pytest

from kron.apps.daemon import peer
from kron.apps.daemon.peer import check_admission, peer_of, uid_of
from kron.apps.host.account import Account
from kron.apps.host.place import Place
from kron.errors import AccessDenied, InvalidInput

PLACE = Place(Path("/nowhere/krond.d"), Path("/nowhere/state.db"), spool=Path("/nowhere/spool"))


@pytest.fixture
def accounts(monkeypatch):
    """Accounts of the host: root, alice, and bob, who is in the group krond."""
    groups = {0: ("root", {"root"}), 1000: ("alice", {"alice", "krond2"}), 1001: ("bob", {"bob", "krond"})}
    monkeypatch.setattr(peer, "account_of", lambda uid: Account(groups[uid][0], uid, frozenset(groups[uid][1])))


def test_kernel_names_the_user_of_a_connection():
    one, other = socket.socketpair()
    with one, other:
        assert uid_of(one) == os.geteuid()


@pytest.mark.parametrize(("uid", "is_privileged"), [(0, True), (1000, False), (1001, True)])
def test_root_and_the_group_may_do_everything(accounts, uid, is_privileged):
    user = peer_of(uid, user=False)
    assert user.is_privileged == is_privileged
    assert user.place(PLACE, "") == (PLACE if is_privileged else PLACE.of_user("alice"))
    if is_privileged:
        assert user.place(PLACE, "alice") == PLACE.of_user("alice")
    else:
        with pytest.raises(AccessDenied, match="cannot use the table of user 'bob'"):
            user.place(PLACE, "bob")


def test_daemon_of_a_user_answers_no_other_user(accounts, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert peer_of(1000, user=True).is_privileged and peer_of(0, user=True).is_privileged
    with pytest.raises(AccessDenied, match="belongs to another user"):
        peer_of(1001, user=True)


def test_user_without_an_account_is_refused():
    with pytest.raises(InvalidInput, match="has no account"):
        peer_of(987_654, user=False)


def test_without_files_every_user_may_ask(tmp_path):
    check_admission(tmp_path, "alice")
