import pytest

from tests.service.http import serving


@pytest.fixture(scope="module")
def plain():
    """A service without tokens, over the store in memory; tests use ids of their own."""
    with serving() as service:
        yield service
