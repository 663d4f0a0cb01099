"""Whole flows in a real browser: with the mouse, with the keyboard only, and without JavaScript."""

import re

import pytest

from kron.engine.registrar import Actor
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.rules.update import ScheduleUpdate
from kron.timing.zone import instant_of
from tests.dashboard.served import ask, dashboard_of, served
from tests.engine.world import World
from tests.stores.making import a_job, a_run

NOW = "2026-10-22T08:42:17Z"
MODES = ("mouse", "keyboard", "plain")
MAX_TABS = 20
DISTANCE = """each => {
    const stops = 'a[href], button:enabled, input:enabled:not([type=hidden]), select, textarea, [tabindex="0"]';
    const all = [...document.querySelectorAll(stops)].filter(stop => stop.checkVisibility());
    return Math.max(0, all.indexOf(each) - all.indexOf(document.activeElement));
}"""
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def world():
    return World(NOW, duration=1)


@pytest.fixture(scope="module")
def flow_site(world):
    with served(dashboard_of(world.store)) as site:
        yield site


class Person:
    """A person in front of a browser who has a mouse, or only a keyboard, or no JavaScript."""

    def __init__(self, browser, site, mode):
        self.mode, self.site = mode, site
        self.context = browser.new_context(timezone_id="UTC", java_script_enabled=mode != "plain")
        self.context.add_cookies([{"name": "kron_zone", "value": "UTC", "url": site.address}])
        self.page = self.context.new_page()
        self.page.set_default_timeout(30_000)

    def open(self, path):
        self.page.goto(self.site.address + path)

    def reach(self, element):
        """Move to an element: by Tab, if there is no mouse."""
        if self.mode != "keyboard":
            return
        for _ in range(element.evaluate(DISTANCE)):
            self.page.keyboard.press("Tab")
        for _ in range(MAX_TABS):  # a field for a time has several stops
            if element.evaluate("each => each === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError("Tab does not reach it")

    def press(self, role, name):
        """Press a link or a button of the main part, and wait for the page behind it."""
        element = self.page.locator("main").get_by_role(role, name=name, exact=True)
        self.reach(element)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter") if self.mode == "keyboard" else element.click()

    def write(self, label, text):
        """Write a text into a field."""
        element = self.page.get_by_role("textbox", name=label, exact=True)
        self.reach(element)
        if self.mode == "keyboard":
            self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)
        else:
            element.fill(text)

    def tick(self, name):
        """Select a row of the list: by its box, or with the keys `j` and `x`."""
        if self.mode == "keyboard":
            for key in ("j", "x"):
                self.page.keyboard.press(key)
        else:
            self.page.get_by_label(f"Select {name}", exact=True).check()

    def text(self):
        return " ".join(self.page.inner_text("main").split())


@pytest.fixture(params=MODES)
def person(request, browser, flow_site):
    person = Person(browser, flow_site, request.param)
    yield person
    person.context.close()


def defined(world, name, text="0 * * * *"):
    """Define a schedule, and return its name."""
    ask(world.registrar.upsert(a_job(name, text), Actor("ci")))
    return name


def state_of(world, name):
    return ask(world.store.get([name]))[0]


def test_pause_is_on_the_list_until_it_is_resumed(world, person):
    name = defined(world, f"pause-{person.mode}")
    person.open(f"/schedules/{name}")
    person.press("link", "Pause…")
    person.write("Why", "ledger is down")
    person.press("button", "Pause")
    assert "Paused until it is resumed." in person.text()
    assert state_of(world, name).paused
    person.open(f"/schedules?q={name}")
    assert "Paused until it is resumed" in person.text()
    person.press("link", name)
    person.press("link", "Resume…")
    person.press("button", "Resume")
    assert not state_of(world, name).paused
    actions = ask(world.store.actions(name))
    assert [(str(each.kind), each.actor, each.note) for each in actions] == [
        ("paused", "local", "ledger is down"),
        ("resumed", "local", ""),
    ]


def test_double_click_on_run_now_gives_one_run(world, person):
    name = defined(world, f"run-{person.mode}")
    person.open(f"/schedules/{name}/run")
    button = person.page.get_by_role("button", name="Run now", exact=True)
    person.reach(button)
    if person.mode == "keyboard":
        for _ in range(2):
            person.page.keyboard.press("Enter")
    else:
        button.dblclick(no_wait_after=True)
    for _ in range(600):  # `wait_for_url` fails if the second click aborts the answer to the first
        if re.search("/runs/[0-9a-f]{64}", person.page.url):
            break
        person.page.wait_for_timeout(50)
    (run,) = ask(world.store.runs(name, 10))
    assert run.key in person.page.url


def test_run_happens_when_the_preview_says(world, person):
    name = defined(world, f"edit-{person.mode}", "0 0 1 1 *")
    person.open(f"/schedules/{name}")
    person.press("link", "Edit")
    person.write("Text", "*/20 * * * * @win(after,9m)")
    if person.mode == "mouse":  # the page follows what is typed
        person.page.locator("#effect").get_by_text("+ Added").nth(1).wait_for()
        assert "text=" not in person.page.url
    else:
        person.press("button", "Preview")
    first = person.page.locator("#effect tbody tr").first.locator("time").last
    at = instant_of(first.get_attribute("datetime"))
    person.press("button", "Save")
    assert state_of(world, name).revision == 2

    async def pass_time():
        world.restart()
        await world.run(at + 1)

    ask(pass_time())
    (run,) = [each for each in ask(world.store.runs(name, 10)) if not each.trigger]
    assert (run.due, run.outcome) == (at * 1000, Outcome.EXECUTED)


def test_change_of_another_person_is_shown_and_not_overwritten(world, person):
    name = defined(world, f"conflict-{person.mode}")
    person.open(f"/schedules/{name}/edit")
    person.write("Text", "30 1 * * *")
    if person.mode != "plain":  # the preview has compared with the first revision
        person.page.locator("#said").get_by_text("At 01:30 every day").wait_for()
    ask(world.registrar.upsert(a_job(name, "15 2 * * *"), Actor("ana", "moved")))
    with person.page.expect_response(lambda response: response.request.method == "POST") as answer:
        person.press("button", "Save")
    assert answer.value.status == 412
    assert "was changed meanwhile by ana, revision 2" in person.text()
    assert person.page.get_by_role("textbox", name="Text", exact=True).input_value() == "30 1 * * *"
    assert state_of(world, name).revision == 2
    person.press("button", "Save")
    assert state_of(world, name).revision == 3
    assert state_of(world, name).job.source.text == "30 1 * * *"


def test_dead_letter_runs_again(world, person):
    name = defined(world, f"dead-{person.mode}")
    state = state_of(world, name)
    dead = a_run(State.FAILED, identity=name, reason=Reason.LAUNCH_FAILED)._replace(outcome=Outcome.MISSED)
    assert ask(world.store.commit([ScheduleUpdate(state, state, (dead,))], state.effective_from)) == [True]
    person.open(f"/runs?dead=1&q={name}")
    person.press("link", "Run again")
    person.press("button", "Run again")
    new = [each for each in ask(world.store.runs(name, 10)) if each.trigger]
    assert len(new) == 1 and new[0].key in person.page.url


def test_everything_that_matches_is_paused(world, person):
    names = [defined(world, f"bulk-{person.mode}-{n}") for n in range(3)]
    other = defined(world, f"other-{person.mode}")
    person.open(f"/schedules?q=bulk-{person.mode}")
    person.tick(names[0])
    if person.mode != "plain":
        person.page.get_by_text("1 selected", exact=True).wait_for()
    person.press("link", "Select everything that matches")
    person.press("button", "Pause…")
    person.write("Why", "bank holiday")
    person.press("button", "Pause 3 schedules")
    assert "3 schedules paused" in person.text()
    assert [state_of(world, name).paused for name in (*names, other)] == [True, True, True, False]
    assert ask(world.store.actions(names[2]))[-1].note == "bank holiday"


def test_large_action_goes_on_by_itself(world, browser, flow_site):
    jobs = [(a_job(f"many{n:04d}", "0 0 1 1 *"), Actor("ci")) for n in range(1_010)]
    ask(world.registrar.upsert_all(jobs))
    person = Person(browser, flow_site, "mouse")
    person.open("/bulk/pause?select=all&q=many")
    person.press("button", "Pause 1,010 schedules")
    person.page.get_by_text("1,010 schedules paused", exact=True).wait_for()
    assert "done=1010" in person.page.url
    assert len(ask(world.store.identities("", 2_000, "many", paused=True))) == 1_010
    person.context.close()
