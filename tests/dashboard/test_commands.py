"""The commands that a page shows to those who may not act: pasted into a shell, they do what the form would do."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kron.apps.dashboard.access import LoopbackAccess, Role
from kron.apps.dashboard.command_line import MAX_LENGTH, CommandLine
from kron.apps.dashboard.context import DashboardContext
from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from kron.timing.zone import instant_of
from tests.dashboard.parsed import parsed
from tests.dashboard.served import Site, served, watched
from tests.postgres import free_port
from tests.service.http import serving
from tests.service.tokens import settings, token
from tests.stores.making import a_job

NAME = '-it\'s "odd" $HOME/`x`'
ADDRESS = "/schedules/-it%2527s%2520%2522odd%2522%2520%2524HOME%252F%2560x%2560"


def pasted(command, **environment):
    """Run a command in a shell, and return its output."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["sh", "-c", command],
        env={"PATH": path, "HOME": "/nowhere", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def url(tmp_path):
    return f"sqlite:{tmp_path / 'my jobs.db'}"


def asked(url, question):
    async def ask():
        async with open_store(url) as store:
            return await question(store)

    return asyncio.run(ask())


async def state_of(store):
    (state,) = await store.get([NAME])
    return state


def commands_of(site, path):
    """Return the commands of a page, without its placeholders."""
    main = parsed(site.get(path))
    return [each.text for each in main.all("code") if each.text.startswith("kron ")]


def test_pasted_commands_do_what_the_forms_of_a_store_do(url):
    asked(url, lambda store: Registrar(store).upsert(a_job(NAME, "0 9 * * *")))
    with served(watched(url, Role.VIEWER)) as site:
        (pause,) = commands_of(site, f"{ADDRESS}/pause?until=2099-01-01T00:00&note=it%27s+a+%22note%22")
        assert "kron pause" not in site.get(f"{ADDRESS}/pause?until=2020-01-01T00:00").text, "it would be refused"
        (resume,) = commands_of(site, f"{ADDRESS}/resume")
        (trigger,) = commands_of(site, f"{ADDRESS}/run")
    pasted(pause)
    state = asked(url, state_of)
    assert (state.paused, state.paused_until) == (True, instant_of("2099-01-01T00:00:00Z") * 1000)
    assert [each.note for each in asked(url, lambda store: store.actions(NAME))] == ['it\'s a "note"']
    pasted(resume)
    assert not asked(url, state_of).paused
    pasted(trigger)
    assert len(asked(url, lambda store: store.runs(NAME, 10))) == 1


@pytest.mark.parametrize("page", ["edit", "backfill"])
def test_what_has_no_command_of_its_own_needs_a_dashboard_for_operators(url, page):
    asked(url, lambda store: Registrar(store).upsert(a_job(NAME, "0 9 * * *")))
    with served(watched(url, Role.VIEWER)) as site:
        (command,) = commands_of(site, f"{ADDRESS}/{page}")
        port = site.port + 1
        assert command.endswith(f"--listen=127.0.0.1:{port}"), "this dashboard has its port"
    port = free_port()
    command = command.replace(str(site.port + 1), str(port))  # that one can be in use by now
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    process = subprocess.Popen(["sh", "-c", f"exec {command}"], env=environment, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                assert Site(port).send(f"{ADDRESS}/pause").status == 303
                break
            except OSError:
                time.sleep(0.1)
        assert asked(url, state_of).paused
    finally:
        process.terminate()
        process.wait(20)


def test_pasted_commands_do_what_the_forms_of_a_service_do(tmp_path):
    with serving(**settings(tmp_path)) as service:
        acme = service.bearing(token("acme"))
        acme.put("/v1/schedules/a", {"schedule": "0 * * * *", "timezone": "UTC", "target": "http://127.0.0.1:9/hook"})
        address = f"http://127.0.0.1:{service.port}"
        context = DashboardContext(
            None, None, LoopbackAccess(Role.VIEWER), store_name="postgresql://secret-host/kron", service_url=address
        )
        commands = CommandLine(context, None)
        pasted(commands.pause("a", "it's late", 4_070_908_800_000), KRON_TOKEN=token("acme"))
        schedule = acme.get("/v1/schedules/a").json
        assert (schedule["paused"], schedule["paused_until"]) == (True, "2099-01-01T00:00:00Z")
        pasted(commands.resume("a", "fine"), KRON_TOKEN=token("acme"))
        pasted(commands.trigger("a", "no option for it"), KRON_TOKEN=token("acme"))
        pasted(commands.backfill("a", 1_760_000_000_000, 1_760_003_600_000), KRON_TOKEN=token("acme"))
        assert len(acme.get("/v1/schedules/a/runs").json["runs"]) == 2
        assert not acme.get("/v1/schedules/a").json["paused"]
        assert "secret-host" not in f"{commands.operate()}{commands.worker()}", "tenants do not see the store"


def test_command_that_cannot_work_is_not_shown():
    def commands(store_name):
        return CommandLine(DashboardContext(None, None, LoopbackAccess(Role.VIEWER), store_name=store_name), 80)

    assert commands("memory:").pause("a") == commands("").operate() == commands("memory").redrive("0" * 64) == ""
    assert commands("postgresql://kron:…@db/kron").pause("a") == 'kron pause --store="$KRON_STORE" a'
    assert commands("sqlite:a.db").pause("x" * MAX_LENGTH) == ""
