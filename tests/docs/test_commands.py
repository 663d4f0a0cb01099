"""The pages name commands, options, settings and make targets that exist, also where nothing is run."""

import re
import shlex
from dataclasses import fields

import pytest

from kron.apps.cli.parser import parser
from kron.apps.service.config import Config
from tests.docs.page import PAGES, ROOT

SHELL = re.compile(r"^ *```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)  # also inside of a list
COMMAND = re.compile(r"(?:^|[|&;]|\s\w+=\S+)\s*(kron (?!=)[^|&;\n]*)", re.MULTILINE)  # not `kron = …` of Python
INLINE = re.compile(r"`(kron [a-z][^`]*)`")
LITERAL = re.compile(r"`([A-Z]+(?:_[A-Z]+)+)`")  # two words or more: settings, codes of errors, and a few others
OTHERS = {"EVENT_JOB_MISSED", "KRON_RETENTION", "KRON_TOKEN", "KRON_URL"}
CODES = re.compile(r'"([A-Z]+(?:_[A-Z]+)+)"')
TARGET = re.compile(r"`make ([a-z][\w-]*)")
GUIDES = [page for page in PAGES if page.parent.name in ("get-started", "how-to") or page.name == "README.md"]


def ids(page):
    return str(page.relative_to(ROOT))


def blocks_of(page):
    """Each command of the page's shell blocks, without comments and redirections."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    found = [command for block in SHELL.findall(text) for command in COMMAND.findall(re.sub(r"\s#.*", "", block))]
    return [re.sub(r"\s\d?>.*", "", command).strip() for command in found]


@pytest.mark.parametrize("page", GUIDES, ids=ids)
def test_commands_of_page_are_accepted(page, capsys):
    for command in blocks_of(page):
        words = shlex.split(command)[1:]
        try:
            parser().parse_args(words)
        except SystemExit as end:
            assert end.code == 0, f"{ids(page)}: {command}\n{capsys.readouterr().err}"


@pytest.mark.parametrize("page", GUIDES, ids=ids)
def test_commands_and_options_in_text_exist(page, capsys):
    for command in INLINE.findall(page.read_text(encoding="utf-8")):
        words = re.findall(r"[^\s\"']+", command)[1:]
        with pytest.raises(SystemExit) as end:
            parser().parse_args([*words[: 2 if words[0] == "schedules" else 1], "--help"])
        shown = capsys.readouterr()
        assert end.value.code == 0, f"{ids(page)}: {command}\n{shown.err}"
        options = [word for word in words if re.match(r"--?[a-z]", word)]
        assert [option for option in options if option not in shown.out] == [], f"{ids(page)}: {command}"


@pytest.mark.parametrize("page", GUIDES, ids=ids)
def test_make_targets_of_page_exist(page):
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [name for name in TARGET.findall(page.read_text(encoding="utf-8")) if f"\n{name}:" not in text] == []


def test_settings_and_codes_of_pages_exist():
    codes = {code for path in (ROOT / "src").rglob("*.py") for code in CODES.findall(path.read_text(encoding="utf-8"))}
    known = {each.name.upper() for each in fields(Config)} | codes | OTHERS
    named = {name: ids(page) for page in GUIDES for name in LITERAL.findall(page.read_text(encoding="utf-8"))}
    assert {n: page for n, page in named.items() if n not in known and n.removeprefix("KRON_") not in known} == {}
