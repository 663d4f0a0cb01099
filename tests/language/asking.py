"""How the tests of the language ask: what a text stands for, and why another is refused."""

import pytest

from kron.errors import LanguageError
from kron.language import parse


def kron(text):
    """The schedule of a text in Kron's own dialect."""
    return parse(text, dialect="kron")


def modified(modifiers):
    """The schedule of daily midnight with modifiers."""
    return kron(f"0 0 * * * {modifiers}")


def refusal(text, dialect="kron"):
    """The code of the error that refuses a text, and the part of the text that it points at."""
    with pytest.raises(LanguageError) as caught:
        parse(text, dialect=dialect)
    start, end = caught.value.span
    return caught.value.code, text[start:end]


def numbers(bits, low=0):
    """The values of a bit set whose lowest bit is `low`."""
    return [low + bit for bit in range(bits.bit_length()) if bits >> bit & 1]
