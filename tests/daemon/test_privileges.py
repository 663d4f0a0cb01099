"""Rights of a user's commands under the real krond of a host; `make krond-privileges` runs all tests of rights."""

import os
import pwd
import signal
import subprocess

import pytest

from kron.rules.run_state import State
from tests.daemon.host_krond import NOBODY, HostKrond, needs_other_user
from tests.daemon.krond import NEVER, soon, until

pytestmark = [pytest.mark.slow, pytest.mark.privileges]
IN_NAMESPACE = ("unshare", "--mount", "--propagation", "private", "sh", "-c")
BIND = 'mount --bind "$0" /etc/shadow && exec "$@"'


class KrondWithShadow(HostKrond):
    """A daemon that sees another file as /etc/shadow. The host's own one is not touched."""

    @property
    def shadow(self):
        return self.folder / "shadow"

    def command(self, *more):
        return [*IN_NAMESPACE, BIND, str(self.shadow), *super().command(*more)]

    def expire(self, day):
        """Say when the account of nobody expires: a day since 1970-01-01, or nothing."""
        self.shadow.write_text(f"root:*:19000:0:99999:7:::\nnobody:*:19000:0:99999:7::{day}:\n")


@pytest.fixture
def krond(tmp_path):
    needs_other_user()
    made = KrondWithShadow(tmp_path)
    made.expire("")
    if subprocess.run([*IN_NAMESPACE, BIND, str(made.shadow), "true"], capture_output=True, check=False).returncode:
        pytest.skip("this root cannot mount")
    yield made
    made.close()


def make_targets(krond):
    """A file of root, and in a folder of nobody a link to it and a FIFO. Returns each path with the refusal."""
    treasure, own = krond.open_folder / "treasure", krond.open_folder / "own"
    treasure.write_text("of root")
    treasure.chmod(0o644)
    own.mkdir(mode=0o755)
    (own / "link").symlink_to(treasure)
    os.mkfifo(own / "fifo", 0o666)
    for path in (own, own / "link", own / "fifo"):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    return {
        "treasure": (treasure, "Permission denied"),
        "link": (own / "link", "is a symbolic link"),
        "fifo": (own / "fifo", "is a FIFO"),
    }


def test_command_of_a_users_table_has_the_rights_of_the_user_until_the_account_expires(krond):
    refused, once, own = make_targets(krond), soon(), krond.open_folder / "own"
    lines = [krond.job("who", "id; pwd; echo $HOME", once, more=f"cwd=/ stdout=file:{own}/who")]
    lines += [krond.job(name, "echo x", once, more=f"stdout=file:{path}") for name, (path, _) in refused.items()]
    krond.start()
    krond.install("".join(f"{line}\n" for line in lines))
    until(lambda: len(krond.events("run_finished")) == len(lines), 60)
    groups = subprocess.run([*NOBODY, "id"], capture_output=True, text=True, check=True).stdout
    assert (own / "who").read_text() == f"{groups}/\n{pwd.getpwnam('nobody').pw_dir}\n"
    assert (own / "who").stat().st_uid == 65534
    for name, (path, reason) in refused.items():
        (run,) = krond.ask(lambda store, name=name: store.runs(f"{krond.spool}/nobody:{name}", 10))
        (why,) = krond.ask_as_nobody(["why", name])
        assert run.state is State.FAILED and reason in why.out and str(path) in why.out, why
    assert refused["treasure"][0].read_text() == "of root"
    (foreign,) = krond.ask_as_nobody((["install", "-"], f"{krond.job('evil', 'id', NEVER, more='user=root')}\n"))
    assert foreign.codes == ["FOREIGN_USER"]
    krond.expire(1)
    krond.send(signal.SIGHUP)
    until(lambda: [event["code"] for event in krond.events("table_refused")] == ["ACCOUNT_EXPIRED"])
    until(lambda: krond.names() == [])
    (expired,) = krond.ask_as_nobody((["install", "-"], f"{krond.job('late', 'id', NEVER)}\n"))
    assert expired.codes == ["ACCOUNT_EXPIRED"] and krond.names() == []
