"""The page on krond: a daemon of this user runs its table, refuses a bad line, and is killed."""

import re

from tests.daemon.krond import Krond
from tests.docs.page import DOCS, blocks
from tests.docs.shell import run_shell

PAGE = DOCS / "how-to" / "krond.md"


def test_page_on_krond_runs(tmp_path):
    shown, at_boot, told = [block.text for block in blocks(PAGE) if block.language == "text"]
    home = {"XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
    printed = run_shell(PAGE, tmp_path, without="pip install", **home)
    checked, finished, used, recorded, refused, corrected, booted, notified, audited = printed
    assert re.search(rf"^20\S+Z  tick  {tmp_path}/.config/krond/hello$", checked, re.MULTILINE), checked
    assert "succeeded" in finished, finished
    assert re.search(r"^krond: +running, process \d+$", used, re.MULTILINE) and "1 job in force" in used
    assert re.search(r"^executed: ", used, re.MULTILINE) and " success " in used, used
    assert re.search(r"^== hello:tick, period 20\S+Z, \w+\nhello$", used, re.MULTILINE), used
    assert "executed" in recorded and re.search(r"^ok .*:tick, revision 1: \d+ executed", recorded, re.MULTILINE)
    assert refused.replace(str(tmp_path), "~") == shown.strip()
    assert corrected == ""
    assert booted.splitlines()[-1].split() == at_boot.split()
    assert told.strip() in notified
    assert re.search(r"^ok .*:tick, revision 1: \d+ executed", audited, re.MULTILINE), audited
    log = (tmp_path / "krond.log").read_text(encoding="utf-8")
    assert log.count("event=krond_started") == 2
    Krond(tmp_path).close()
