"""Daemons that end with their tests, and a folder of tables."""

import pytest

from tests.daemon.krond import Krond


@pytest.fixture
def make_krond(tmp_path):
    made = []

    def make(*options, folder=tmp_path, **env):
        made.append(Krond(folder, *options, **env))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def krond(make_krond):
    return make_krond()


@pytest.fixture
def folder(tmp_path):
    """A folder of tables without a daemon."""
    path = tmp_path / "tables"
    path.mkdir(mode=0o755)
    return path
