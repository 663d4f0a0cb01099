"""CONTRIBUTING.md describes the layers and targets as they are, and the links of the root pages lead to files."""

import re
import tomllib

import pytest

from tests.docs.page import ROOT, table
from tests.docs.test_make_help import PHONY

PAGE = ROOT / "CONTRIBUTING.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LAYERS = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]


def listed() -> dict[str, str]:
    """The layer of each module in the table, such as `{"core": "11", "events": "10"}`."""
    rows = table(PAGE, "layers")
    return {name: row[0] for row in rows for name in re.findall(r"(\w+)(?:\.py|/)(?=[`,]|$)", row[1])}


def test_layers_of_the_page_are_those_of_the_contract():
    contract = {
        name.strip().removeprefix("kron."): str(number)
        for number, layer in enumerate(LAYERS, 1)
        for name in layer.split("|")
    }
    in_layers = {name: layer for name, layer in listed().items() if layer != "–"}
    assert {name: layer for name, layer in in_layers.items() if name in contract} == contract
    assert in_layers.keys() - contract.keys() == {
        *("cli", "daemon", "dashboard", "declarative", "embedded", "host", "krontab", "kubectl", "operator", "service")
    }


def test_layers_of_the_page_name_every_module():
    source = ROOT / "src" / "kron"
    modules = {path.stem for path in source.glob("*.py")} - {"__init__"}
    packages = {path.parent.name for path in [*source.glob("*/__init__.py"), *source.glob("apps/*/__init__.py")]}
    assert listed().keys() == modules | packages


def test_targets_of_the_page_are_those_of_the_makefile():
    text = PAGE.read_text(encoding="utf-8")
    section = text.split("### Targets\n", 1)[1].split("\nCI runs", 1)[0]
    rows = [line.split("|")[2] for line in section.splitlines() if line.startswith("| ")]
    assert {name for row in rows[1:] for name in re.findall(r"`([\w-]+)`", row)} == PHONY
    assert set(re.findall(r"(?:`|^ *)make ([\w-]+)", text, re.MULTILINE)) <= PHONY


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_of_a_root_page_lead_to_files(name):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []
