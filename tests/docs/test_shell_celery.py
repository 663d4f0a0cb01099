"""The page on Celery: its project runs with two beats and a worker on PostgreSQL and Redis."""

import re

import pytest

from tests.docs.page import DOCS, blocks
from tests.docs.shell import run_shell
from tests.integrations.brokers import broker
from tests.postgres import running

PAGE = DOCS / "how-to" / "celery.md"


def test_page_installs_the_client_of_its_broker():
    (project,) = [block.text for block in blocks(PAGE) if block.language == "python"]
    (install,) = [block.text for block in blocks(PAGE) if block.text.startswith("pip install")]
    (scheme,) = re.findall(r'broker="(\w+)://', project)
    assert f"'celery[{scheme}]'" in install


@pytest.mark.slow
def test_page_on_celery_publishes_with_two_beats(tmp_path):
    (project,) = [block.text for block in blocks(PAGE) if block.language == "python"]
    (shown,) = [block.text for block in blocks(PAGE) if block.language == "text"]
    (roles,) = [block.text for block in blocks(DOCS / "how-to" / "postgresql.md") if block.language == "sql"]
    with running() as server, broker("redis") as redis:
        for statement in roles.splitlines():
            server.sql(statement)
        server.sql("CREATE DATABASE kron OWNER kron_owner")
        replaced = {"@db/": f"@127.0.0.1:{server.port}/", "redis://redis/0": redis.url}
        for old, new in replaced.items():
            project = project.replace(old, new)
        (tmp_path / "proj.py").write_text(project, encoding="utf-8")
        wait = "for _ in $(seq 160); do grep -q 'alive 20' worker.log && break; sleep 0.5; done; kron audit"
        printed = run_shell(PAGE, tmp_path, {**replaced, "kron audit": wait})
    logs = [(tmp_path / f"beat{number}.log").read_text() for number in (1, 2)]
    received = (tmp_path / "worker.log").read_text()
    assert re.search(r"alive 20\S+Z [0-9a-f]{64}", received), received
    assert all("beat: Starting..." in log for log in logs), logs
    assert sum(log.count("Sending due task heartbeat (proj.note)") for log in logs) >= 1, logs
    assert counted(printed[-1]) == counted(shown)


def counted(text):
    """The lines of an audit, whatever the number of executed runs."""
    return re.sub(r"\d+ executed", "N executed", text).split("\n", 3)[:3]
