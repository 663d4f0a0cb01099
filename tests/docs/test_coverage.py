"""Every fenced block of every page is run or checked by a test, or is marked as an illustration.

`python -m tests.docs.test_coverage` lists each block with the way in which it is covered.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs import (
    test_data,
    test_shell_celery,
    test_shell_krond,
    test_shell_postgres,
    test_shell_service,
    test_tutorials,
)
from tests.docs.page import DOCS, PAGES, ROOT, Block, blocks
from tests.docs.reference import GENERATED
from tests.docs.shell import installs
from tests.docs.test_examples import ids

ILLUSTRATION, UNCOVERED = "illustration", ""
TUTORIALS = dict.fromkeys(
    (
        *(f"get-started/{name}.md" for name in ("commands", "krond", "service")),
        *(f"how-to/{name}.md" for name in ("django", "fastapi", "flask", "manage-as-code")),
    ),
    "tutorials",
)
SHELL_POSTGRES = {
    **dict.fromkeys((f"how-to/{name}.md" for name in test_shell_postgres.NAMES), "shell_postgres"),
    "how-to/postgresql.md": "shell_postgres",
}
SHELL_SERVICE = dict.fromkeys(
    (
        "get-started/install.md",
        *(f"how-to/{name}.md" for name in ("authenticate", "dead-letters", "from-cron", "harden", "host-commands")),
        *(f"how-to/{name}.md" for name in ("per-customer-schedules", "receive-webhooks", "stream-events", "workflows")),
        "how-to/protect-targets.md",
    ),
    "shell_service",
)
SHELL = {
    **TUTORIALS,
    **SHELL_POSTGRES,
    **SHELL_SERVICE,
    "how-to/celery.md": "shell_celery",
    "how-to/krond.md": "shell_krond",
    "README.md": "shell_postgres, shell_service",
}
DATA = {
    **{(f"how-to/{name}", "json"): "data" for name in test_data.JOBS},
    ("how-to/authenticate.md", "toml"): "data",
    ("how-to/dashboard.md", "toml"): "data",
    ("how-to/protect-targets.md", "toml"): "data",
    ("how-to/protect-targets.md", "text"): "data",
    ("how-to/kubernetes-jobs.md", "yaml"): "data",
    ("how-to/kron-operator.md", "yaml"): "data",
    ("how-to/manage-as-code.md", "yaml"): "data",
    ("get-started/workflow-files.md", "yaml"): "data",
    ("reference/krontab.md", "krontab"): "data",
    ("reference/sentences.md", "yaml"): "data",
    ("reference/webhook-format.md", "json"): "data",
    ("reference/sql.md", "sql"): "sql",
    ("how-to/postgresql.md", "sql"): "shell_postgres",
    ("how-to/update-tz-database.md", "text"): "tests/cli/test_tzdiff.py",
    ("protocol/README.md", "text"): "tests/protocol/test_protocol.py",
}


def name_of(page: Path) -> str:
    return str(page.relative_to(DOCS)) if DOCS in page.parents else page.name


def way_of(page: Path, block: Block, before: Block | None) -> str:
    """How a block is covered: by a test of this folder, by being an output, or as an illustration."""
    name = name_of(page)
    if block.illustration or block.language == "mermaid":
        return ILLUSTRATION
    if name in GENERATED:
        return "site"  # the page is compared with what its generator writes
    if block.language in ("python", "console"):
        return "examples"
    if block.language == "sh":
        return "packaging" if installs(block) else SHELL.get(name, UNCOVERED)
    if (name, block.language) in DATA:
        return DATA[name, block.language]
    if block.language in ("text", "json") and before and before.language in ("python", "sh"):
        return "output: " + way_of(page, before, None)
    return UNCOVERED


def covered(page: Path) -> Iterator[tuple[Block, str]]:
    """Each block of a page, with the way in which it is covered."""
    for before, block in pairwise([None, *blocks(page)]):
        yield block, way_of(page, block, before)


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_block_of_page_is_covered(page):
    assert [f"{ids(page)}:{block.line} {block.language}" for block, way in covered(page) if not way] == []


def test_every_fence_is_a_block():
    """A fence that the pattern of blocks does not find would be covered by no test, and would not be missed."""
    for page in PAGES:
        fences = [line for line in page.read_text(encoding="utf-8").splitlines() if line.lstrip().startswith("```")]
        assert len(fences) == 2 * len(blocks(page)), ids(page)


def test_registered_pages_exist_and_are_run():
    tests = {
        "tutorials": test_tutorials,
        "shell_celery": test_shell_celery,
        "shell_krond": test_shell_krond,
        "shell_postgres": test_shell_postgres,
        "shell_service": test_shell_service,
    }
    texts = {name: Path(str(module.__file__)).read_text(encoding="utf-8") for name, module in tests.items()}
    for name, way in SHELL.items():
        assert (DOCS / name).is_file() or (ROOT / name).is_file(), name
        stem = Path(name).stem
        assert all(f'{stem}.md"' in texts[each] or f'"{stem}"' in texts[each] for each in way.split(", ")), name


if __name__ == "__main__":
    for page in PAGES:
        for block, way in covered(page):
            print(f"{ids(page)}:{block.line}\t{block.language or '-'}\t{way or 'UNCOVERED'}")
