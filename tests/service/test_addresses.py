"""Where a webhook may not go: the table of addresses, names that lead there, and names that change their mind."""

import asyncio
import os
import socket

import pytest

from kron.launchers.address import forbidden, networks
from kron.launchers.http import HttpLauncher
from kron.launchers.post import Poster
from kron.launchers.signature import Secrets
from kron.rules.launch_result import LaunchResult
from tests.service.http import SECRET, receiving, serving, until
from tests.service.test_webhooks import launch, send

PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8"]
# fmt: off
FORBIDDEN = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255",
    "127.0.0.1", "127.1.2.3", "127.255.255.255", "169.254.0.1", "169.254.169.254", "169.254.170.2",
    "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.8", "192.0.0.192", "192.0.2.1", "192.88.99.1",
    "192.168.0.1", "192.168.255.255", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
    "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16", "::", "::1", "::127.0.0.1",
    "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001::1", "2001:0:53aa:64c:0:0:80ff:fffe",
    "2001:2::1", "2001:10::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1", "3fff::1", "5f00::1", "fc00::1",
    "fd00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1",
]
# fmt: on
NO_ADDRESS = ["", "localhost", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "1.1.1.1 ", "example.org"]


@pytest.mark.parametrize("address", FORBIDDEN + NO_ADDRESS)
def test_forbidden(address):
    assert forbidden(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address):
    assert not forbidden(address)


def test_the_operator_may_allow_what_is_his():
    allowed = networks(["10.1.0.0/16", "fd12::/16"])
    assert not forbidden("10.1.2.3", allowed)
    assert not forbidden("::ffff:10.1.2.3", allowed)
    assert not forbidden("fd12::1", allowed)
    assert forbidden("10.2.2.3", allowed)
    assert forbidden("127.0.0.1", allowed)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0"])
def test_no_spelling_of_this_machine_is_reached(host):
    with receiving() as receiver:
        target = f"http://{host}:{receiver.port}/"
        assert send(launch(target), allowed=()) in (
            LaunchResult.REJECTED,
            LaunchResult.RETRYABLE,
        )  # forbidden, or no name at all
        assert receiver.seen == []


# fmt: off
SPELLINGS = [
    "127.0.0.1:{0}", "localhost:{0}", "127.1:{0}", "2130706433:{0}", "0x7f.1:{0}", "0177.0.0.1:{0}", "0:{0}",
    "0.0.0.0:{0}", "[::1]:{0}", "[::ffff:127.0.0.1]:{0}", "[::ffff:7f00:1]:{0}", "[::]:{0}", "[64:ff9b::7f00:1]:{0}",
    "[2002:7f00:1::]:{0}", "127.0.0.1.:{0}", "localhost.:{0}", "ip6-localhost:{0}", "{1}:{0}", "169.254.169.254",
    "10.0.0.1", "100.64.0.1", "[fe80::1%25eth0]:80", "[fe80::1%eth0]:80", "user@127.0.0.1:{0}",
    "example.com@127.0.0.1:{0}", "127.0.0.1:{0}#@example.com", "127.0.0.1:{0}\\@example.com", "①②⑦.⓪.⓪.①:{0}",
    "127。0。0。1:{0}", "127.0.0.1:{0}\r\nX-Evil: 1", "127.0.0.1%0d%0aX:{0}", "127.0.0.1:0{0}", "127.0.0.1:{0}:80",
    "[::1%lo]:{0}", "LOCALHOST:{0}", "%6c%6fcalhost:{0}",
]
# fmt: on


@pytest.mark.parametrize("host", SPELLINGS)
def test_spelling_of_an_inner_host_is_refused_or_never_reached(plain, host):
    """36 ways to write an address that nobody may call: as a definition, and as what a worker is handed."""
    with receiving() as receiver:
        target = f"http://{host.format(receiver.port, socket.gethostname())}/"
        said = send(launch(target), allowed=(), seconds=1.0)
        assert said in (LaunchResult.REJECTED, LaunchResult.RETRYABLE)
        defined = plain.put("/v1/schedules/ssrf", {"schedule": "0 3 1 1 *", "target": target})
        assert defined.status in (200, 422)
        assert said is LaunchResult.REJECTED or defined.status == 200
        assert receiver.seen == []


@pytest.mark.parametrize(
    "target",
    [
        "http:/a", "http:///a", "//127.0.0.1:9000/", "unix://x", "file:///etc/passwd", "gopher://127.0.0.1:9000/",
        "http+unix://%2ftmp/x", "ftp://x/", "http://127.0.0.1:9000/a b", "http://127.0.0.1:9000/\u00e9",
        "http://127.0.0.1:9000/?q=\t", "javascript:1", "workflow:x?version=1&user=u", "command:", "python:pass",
        "kubernetes:x/y",
    ],
)  # fmt: skip
def test_target_that_is_no_webhook_is_refused_when_defined(plain, target):
    assert plain.put("/v1/schedules/odd", {"schedule": "0 3 1 1 *", "target": target}).status == 422


def test_scheme_in_capitals_is_sent_as_any_other():
    """The scheme names the launcher, so it is kept in small letters."""
    with receiving() as receiver, serving(run_worker=True, tick_ms=50) as service:
        target = f"HTTP://127.0.0.1:{receiver.port}/Hook"
        made = service.put("/v1/schedules/capitals", {"schedule": "* * * * * *", "target": target}).json
        assert made["target"] == f"http://127.0.0.1:{receiver.port}/Hook"
        until(lambda: receiver.seen)
        assert receiver.seen[0][0] == "/Hook"


def test_a_name_that_leads_to_one_forbidden_address_among_others_is_refused():
    async def mixed(host, payer):
        return ["127.0.0.1", "10.0.0.1"]  # of which the first is allowed here

    with receiving() as receiver:
        assert send(launch(f"http://mixed.example:{receiver.port}/"), resolve=mixed) is LaunchResult.REJECTED
        assert receiver.seen == []


def test_a_name_that_changes_its_mind_is_looked_up_once_for_each_attempt():
    """Asked again, it would answer with this machine: but what was vetted is what is called."""
    asked, dialled = [], []

    async def rebinding(host, payer):
        asked.append(host)
        return ["8.8.8.8"] if len(asked) == 1 else ["127.0.0.1"]

    async def script():
        loop = asyncio.get_running_loop()

        async def dial(factory, host=None, port=None, **more):
            dialled.append(host)
            raise OSError("not in a test")

        loop.create_connection = dial
        launcher = HttpLauncher(Secrets(SECRET), Poster(resolve=rebinding), plain=True, seconds=2)
        first = await launcher.start(launch("http://rebinding.example/"))
        return first, await launcher.start(launch("http://rebinding.example/"))

    assert [receipt.result for receipt in asyncio.run(script())] == [LaunchResult.RETRYABLE, LaunchResult.REJECTED]
    assert (len(asked), dialled) == (2, ["8.8.8.8"])


def test_proxies_of_the_environment_are_not_asked(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as proxy, receiving() as receiver:
        proxy.settimeout(0.2)
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setitem(os.environ, name, address)
        assert send(launch(receiver.url)) is LaunchResult.OK
        with pytest.raises(TimeoutError):
            proxy.accept()
        assert len(receiver.seen) == 1
