"""The public names of the package."""

from importlib.resources import files

import pytest

import kron


def test_every_public_name_has_a_home_and_a_docstring():
    assert all(getattr(kron, name).__doc__ for name in kron.__all__)
    assert {name for names in kron._HOMES.values() for name in names} == set(kron.__all__)


def test_a_name_that_is_not_there_is_said_so():
    with pytest.raises(AttributeError, match="no attribute 'pars'"):
        _ = kron.pars


def test_package_is_marked_as_typed():
    assert files("kron").joinpath("py.typed").is_file()
