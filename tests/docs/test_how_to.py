"""The how-to guides name every reason, every alert and every part that the code has."""

from kron.rules.outcome import Outcome, Reason
from tests.campaigns.alerts import names
from tests.docs.page import ROOT, table

FOLDER = ROOT / "docs" / "how-to"


def test_troubleshooting_names_every_reason():
    rows = table(FOLDER / "troubleshoot-missed-runs.md", "reasons")
    assert {row[0] for row in rows} == set(Reason)
    assert {word for row in rows for word in row[1].split(" or ")} == set(Outcome)


def test_monitoring_names_every_alert():
    text = (FOLDER / "monitor.md").read_text(encoding="utf-8")
    assert [line.removeprefix("### ") for line in text.splitlines() if line.startswith("### Kron")] == list(names())


def test_index_lists_every_guide():
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in sorted(FOLDER.glob("*.md")) if f"({page.name})" not in text] == ["index.md"]
