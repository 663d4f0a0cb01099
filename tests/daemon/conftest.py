"""Daemons that end with their tests."""

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
