"""What comes from stores and networks is shown on a terminal, and never acted on by it."""

import io
import json
import os

import pytest

from kron import KronError
from kron.apps.cli import main
from kron.apps.cli.console import Screen
from kron.apps.visible import visible
from kron.apps.wiring import durable, open_store
from tests.service.http import serving

HOSTILE = "\x1b]0;pwned\x07\x1b[2J\x9b31m\nrevision 9 by root: all is well\r\u202e\u2028end"
BAD = set("\x1b\x07\x9b\r\u202e\u2028")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setitem(os.environ, "TERM", "xterm")
    return Screen(Terminal(), Terminal())


def test_visible_text_is_one_line_without_controls():
    assert visible("plain: é ü 日本 🎉") == "plain: é ü 日本 🎉"
    assert visible("a\x1b[31m\nb\tc\x7f\u202e") == r"a\x1b[31m\nb\tc\x7f\u202e"


def test_screen_escapes_lines_notes_tables_and_errors(screen):
    screen.line(f"x {HOSTILE}")
    screen.note(HOSTILE)
    screen.table(("ID", "NOTE"), [("a", HOSTILE)])
    screen.error(KronError("CODE", HOSTILE, hint=HOSTILE))
    screen.json({"note": HOSTILE})
    said = screen.out.getvalue() + screen.err.getvalue()
    assert said.count("\x1b") == said.count("\x1b[2m") + said.count("\x1b[31m") + said.count("\x1b[0m") == 4
    assert not (BAD - {"\x1b"}) & set(said)
    assert "\nrevision 9" not in said
    assert json.loads(screen.out.getvalue()[screen.out.getvalue().index("{\n") :]) == {"note": HOSTILE}


def test_painted_text_keeps_its_colour_and_hides_no_other(screen):
    screen.line(screen.paint(screen.out, "red", "a\x1b[8mb") + " c\x1b[8m")
    assert screen.out.getvalue() == "\x1b[31ma\\x1b[8mb\x1b[0m c\\x1b[8m\n"


def test_commands_show_hostile_notes_and_descriptions_harmlessly(capsys):
    with serving() as service:
        url = ["--url", f"http://127.0.0.1:{service.port}"]
        body = {"schedule": "0 3 * * *", "target": "http://127.0.0.1:9/x", "note": HOSTILE, "description": HOSTILE}
        assert service.put("/v1/schedules/e", body).status == 200
        assert service.post("/v1/schedules/e/pause", {"note": HOSTILE}).status == 200
        for words in (["get", "e"], ["why", "e"], ["list"], ["get", "e", "-o", "json"], ["get", "none\x1b[2J"]):
            main(["schedules", *words, *url])
    said = capsys.readouterr()
    assert not BAD & set(said.out + said.err)
    assert "\nrevision 9" not in said.out


@pytest.mark.parametrize(
    "url", ["postgre://kron:hunter2@db/kron", "mysql://kron:hunter2@db/kron", "//kron:hunter2@db", "kron:hunter2@db"]
)
def test_errors_about_store_urls_have_no_password(url):
    async def opening():
        async with open_store(url):
            raise AssertionError

    for attempt in (lambda: opening().send(None), lambda: durable(url)):
        with pytest.raises(KronError) as caught:
            attempt()
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("identity", ["a\nb", "a\x1b[2Jb", "\udcff\udcfe"])
@pytest.mark.parametrize(
    "command",
    [
        ("next", "0 9 * * * @win(after,1h)"),
        ("explain", "0 9 * * * @win(after,1h)"),
        ("translate", "daily around 14:00"),
    ],
)
def test_identity_with_bytes_that_are_no_text_is_refused(kron, command, identity):
    result = kron(*command, "--identity", identity)
    assert result.status == 2
    assert "argument --identity: expected UTF-8 text without control characters" in result.err
