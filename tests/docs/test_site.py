"""The site: links lead somewhere, the reference is complete and current, and the build loads nothing from elsewhere."""

import dataclasses
import html
import importlib.util
import os
import posixpath
import re
import shlex
import subprocess
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pytest

import kron
from kron.apps.cli.parser import parser
from kron.apps.service.config import Config
from kron.engine.events import about
from kron.engine.metrics import Metrics
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import ACTIVE, OPEN, State
from tests.docs import pictures
from tests.docs.page import DOCS, PAGES, ROOT, table
from tests.docs.reference import GENERATED, cli, codes, events
from tests.docs.reference.client_types import SOURCES
from tests.docs.test_examples import ids
from tests.stores.making import a_run

REFERENCE = DOCS / "reference"
RUN_STATES = REFERENCE / "run-states.md"
ALL = sorted({*PAGES, *DOCS.rglob("*.md"), *ROOT.glob("*.md")})
LINK = re.compile(r"(?<!`)\]\((?!\w+:|/)([^)\s#]*)(?:#([^)\s]*))?\)")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its blocks and inline code."""
    return re.sub(r"`[^`\n]*`", "``", re.sub(r"^```.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL))


def anchors(page: Path) -> set[str]:
    """The anchors of a page: its headings as MkDocs names them, and what it marks itself."""
    text = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set(re.findall(r'<a id="([^"]+)">', text))
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = re.sub(r"[^\w\s-]", "", unicodedata.normalize("NFKD", heading.replace("`", ""))).strip().lower()
        name = re.sub(r"[-\s]+", "-", plain.encode("ascii", "ignore").decode())
        number = 1
        while name in found:
            name, number = f"{re.sub(r'_[0-9]+$', '', name)}_{number}", number + 1
        found.add(name)
    return found


@pytest.mark.parametrize("page", ALL, ids=ids)
def test_links_of_a_page_lead_to_files_and_headings(page):
    broken = []
    for path, anchor in LINK.findall(prose(page)):
        target = Path(posixpath.normpath(page.parent / path)) if path else page
        found = target.exists() and (not anchor or target.suffix != ".md" or anchor in anchors(target))
        broken += [] if found else [f"{path}#{anchor}"]
    assert broken == []


@pytest.mark.parametrize("name", GENERATED)
def test_generated_page_is_current(name):
    assert text_of(DOCS / name) == GENERATED[name](), "run `make docs`"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_types_of_the_client_are_those_of_the_openapi_document(path):
    assert text_of(path) == SOURCES[path](), "run `make docs`"


def test_python_api_documents_every_public_name():
    text = text_of(REFERENCE / "python-api.md")
    listed = set(re.findall(r"^::: kron\.(?:\w+\.)+(\w+)$", text, re.MULTILINE))
    assert listed == set(kron.__all__)
    for name in kron.__all__:
        assert name.lower() in anchors(REFERENCE / "python-api.md")


def test_python_api_names_the_modules_that_define_the_names():
    for module, name in re.findall(r"^::: (kron\.[\w.]+)\.(\w+)$", text_of(REFERENCE / "python-api.md"), re.MULTILINE):
        assert getattr(importlib.import_module(module), name) is getattr(kron, name)


def test_settings_page_documents_every_setting():
    assert {field.name for field in dataclasses.fields(Config)} <= anchors(REFERENCE / "settings.md")


def test_errors_page_has_an_anchor_for_every_code():
    golden = (ROOT / "tests" / "golden" / "diagnostics" / "codes.txt").read_text(encoding="utf-8").split()
    assert {code.lower() for code in (*codes.codes(), *golden)} <= anchors(REFERENCE / "errors.md")


def test_metrics_page_documents_every_metric():
    text = text_of(REFERENCE / "metrics.md")
    names = re.findall(r"^# TYPE (\w+)", Metrics().text(), re.MULTILINE)
    assert names
    assert [name for name in names if f"`{name}`" not in text and f"`{name.removeprefix('kron_')}`" not in text] == []


def test_events_page_documents_every_event():
    assert {*events.stated(), *events.said()} <= anchors(REFERENCE / "events.md")


def test_events_page_names_the_fields_of_a_run():
    """Each run field is one that the engine writes; `decision` is added by the log."""
    finished = about("launch_completed", 0, a_run(State.SUCCESS, trigger="again"))
    assert {row[0] for row in table(REFERENCE / "events.md", "run fields")} == {*finished.facts, "decision"}
    scheduled = about("launch_completed", 0, a_run(State.SUCCESS), result="ok", sent=0)
    assert events.SAMPLE.facts.keys() == scheduled.facts.keys()


def test_cli_page_documents_every_option():
    text = text_of(REFERENCE / "cli.md")
    for command, options in cli.documented().items():
        section = text.split(f"\n## {command}\n", 1)[1].split("\n## ", 1)[0]
        assert [option for option in options if not re.search(rf"`{option}[ `]", section)] == [], command


@pytest.mark.parametrize("example", cli.EXAMPLES.values())
def test_example_of_the_cli_page_is_a_command(example):
    assert parser().parse_args(shlex.split(example)[1:]).command


def test_run_states_page_documents_states_outcomes_and_reasons():
    rows = table(RUN_STATES, "states")
    assert [row[0] for row in rows] == list(State)
    assert {row[0] for row in rows if row[1] == "no"} == OPEN
    assert {row[0] for row in rows if row[2] == "yes"} == ACTIVE
    assert [row[0] for row in table(RUN_STATES, "outcomes")] == list(Outcome)
    assert [row[0] for row in table(RUN_STATES, "reasons")] == list(Reason)


def test_diagrams_of_run_states_name_every_state():
    diagrams = "".join(re.findall(r"^```mermaid\n(.*?)^```$", text_of(RUN_STATES), re.MULTILINE | re.DOTALL))
    assert set(re.findall(r"\b[a-z]+\b(?= -->)|(?<=--> )[a-z]+\b", diagrams)) == set(State)


class Loads(HTMLParser):
    """The addresses that a browser loads for a page, without those that a reader follows."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") in ("canonical", "next", "prev"):
            return
        names = ("href",) if tag == "link" else ("src", "srcset", "data", "poster")
        self.found += [value for name in names if (value := given.get(name)) is not None]


@pytest.mark.slow
@pytest.mark.skipif(not all(map(importlib.util.find_spec, ("mkdocs", "material"))), reason="needs the group docs")
def test_site_builds_and_loads_nothing_from_another_host(tmp_path):
    env = {**os.environ, "DISABLE_MKDOCS_2_WARNING": "true", "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert [url for url in loads.found if re.match(r"(?:https?:)?//", url)] == [], page
    for sheet in [*tmp_path.rglob("*.css"), *tmp_path.rglob("*.svg")]:
        text = sheet.read_text(encoding="utf-8")
        assert re.findall(r"(?:url\(|@import\s+)[\"']?(?:https?:)?//[^)\"']+", text) == [], sheet


@pytest.mark.parametrize("name", pictures.CAPTURES)
def test_picture_shows_what_its_command_prints(name):
    shown = html.unescape(re.sub(r"<[^>]+>", "\n", text_of(DOCS / "pictures" / f"{name}.svg"))).replace("\xa0", " ")
    words = [word for line in pictures.printed(pictures.CAPTURES[name]).splitlines() for word in line.split()]
    assert words
    assert [word for word in words if word not in shown] == [], "run `make docs-pictures`"
