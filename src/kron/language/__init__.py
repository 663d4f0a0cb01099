"""Parsers and writers of schedule texts. A caller or the text names the dialect; Kron never guesses it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kron.language.dialect import DIALECTS as DIALECTS
    from kron.language.reading import parse as parse


def __getattr__(name: str) -> Any:
    """Return a public name from its module. The import is deferred so that `kron --help` can list the dialects."""
    if name == "parse":
        from kron.language.reading import parse

        return parse
    if name == "DIALECTS":
        from kron.language.dialect import DIALECTS

        return DIALECTS
    raise AttributeError(f"module 'kron.language' has no attribute {name!r}")
