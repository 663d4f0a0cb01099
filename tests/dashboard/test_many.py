"""The dashboard with 10,000 schedules and 100,000 runs: what each page asks PostgreSQL, and how the answers are found.

The rows are seeded by sets, as for a million schedules (`make bench-ui`, which also measures times). The role of the
dashboard is under row-level security.
"""

import pytest
from benchmarks.ui.addresses import page_paths, templates
from benchmarks.ui.pages import measured_pages
from benchmarks.ui.plans import SETTINGS, PlanLog
from benchmarks.ui.seed import Seed
from benchmarks.ui.shape import differing_forms
from benchmarks.ui.site import served
from benchmarks.ui.size import Size

from kron.apps.dashboard.app import page_routes
from tests.postgres import FAST, running

SIZE = Size(schedules=10_000, load_scopes=10)
MAX_ROWS = 6_000  # that one query reads: of 10,000 schedules, 10,000 revisions and 100,000 runs


@pytest.fixture(scope="module")
def seeded_server():
    """A server that logs plans, and the name of a seeded database."""
    with running(FAST | SETTINGS) as server:
        server.sql("CREATE ROLE kron LOGIN")
        database = server.database()
        server.index_names(database)
        server.sql("GRANT USAGE ON SCHEMA kron TO kron; GRANT ALL ON ALL TABLES IN SCHEMA kron TO kron", database)
        assert Seed(server, database, SIZE).fill()["schedules"] == SIZE.schedules
        yield server, database


@pytest.fixture(scope="module")
def results(seeded_server):
    """What the benchmark found out about each page, without times."""
    server, database = seeded_server
    with served(server.url(database, "kron")) as site:
        return measured_pages(site, PlanLog(server), list(templates(server, database)), 0)


@pytest.mark.slow
def test_seeded_rows_have_the_form_that_the_engine_writes(seeded_server):
    compared, differing = differing_forms(*seeded_server, SIZE.schedules)
    assert not differing
    assert compared >= 15


@pytest.mark.slow
def test_every_page_of_the_application_is_opened(results):
    assert set(results) == set(page_paths())
    pages = {route.path for route in page_routes() if "GET" in route.methods}
    assert pages - set(results) == {"/stream"}


@pytest.mark.slow
def test_no_page_is_too_large_asks_too_much_or_scans_a_table(results):
    for page, result in results.items():
        assert not result.faults, (page, result.faults)
        assert result.most_rows[0] <= MAX_ROWS, (page, result.most_rows)
    assert results["/"].most_questions[0] >= 7, "the plans were not logged"
