"""Parsers and writers of schedule texts. A caller or the text names the dialect; Kron never guesses it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kron.language.dialect import DIALECTS as DIALECTS
    from kron.language.reading import parse as parse

_HOMES = {"DIALECTS": "kron.language.dialect", "parse": "kron.language.reading"}


def __getattr__(name: str) -> Any:
    """Return a public name from its module. The import is deferred so that `kron --help` can list the dialects."""
    if name not in _HOMES:
        raise AttributeError(f"module 'kron.language' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
