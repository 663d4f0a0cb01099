"""The how-to guides name every reason, every alert and every part that the code has."""

from typing import Any

from kron.client import Client
from kron.rules.outcome import Outcome, Reason
from tests.campaigns.alerts import names as alerts
from tests.docs.page import ROOT, blocks, table
from tests.docs.test_examples import run_python
from tests.service.http import serving
from tests.service.tokens import settings, token

FOLDER = ROOT / "docs" / "how-to"


def test_troubleshooting_names_every_reason():
    rows = table(FOLDER / "troubleshoot-missed-runs.md", "reasons")
    assert {row[0] for row in rows} == set(Reason)
    assert {word for row in rows for word in row[1].split(" or ")} == set(Outcome)


def test_monitoring_names_every_alert():
    text = (FOLDER / "monitor.md").read_text(encoding="utf-8")
    assert [line.removeprefix("### ") for line in text.splitlines() if line.startswith("### Kron")] == list(alerts())


def test_index_lists_every_guide():
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in sorted(FOLDER.glob("*.md")) if f"({page.name})" not in text] == ["index.md"]


def test_error_handling_creates_changes_and_deletes_once(tmp_path):
    """The functions of the guide, against a service: they catch what the client raises."""
    names: dict[str, Any] = {"__name__": "guide"}
    for block in blocks(FOLDER / "handle-errors.md"):
        if block.language == "python":
            run_python(block, names, "handle-errors.md")
    definition = {"schedule": "0 9 * * *", "timezone": "UTC", "target": "http://127.0.0.1:9/hook"}
    with serving(**settings(tmp_path)) as service:
        client = Client(f"http://127.0.0.1:{service.port}", token("guide"))
        assert [names["create"](client, "a", definition) for _ in range(2)] == [True, False]
        crowded = Changing(f"http://127.0.0.1:{service.port}", token("guide"))
        assert names["describe"](crowded, "a", "the report") == 3
        assert client.get("a")["description"] == "the report"
        assert names["trigger"](client, "a", "k") == names["trigger"](client, "a", "k")
        assert [names["delete"](client, "a") for _ in range(2)] == [True, False]


class Changing(Client):
    """A client that is overtaken once: another program changes the schedule between reading and writing."""

    overtaken = False

    def get(self, schedule_id):
        stored = super().get(schedule_id)
        if not self.overtaken:
            self.overtaken = True
            fields = {field: stored[field] for field in ("schedule", "timezone", "target")}
            self.apply(schedule_id, {**fields, "description": "another program"})
        return stored
