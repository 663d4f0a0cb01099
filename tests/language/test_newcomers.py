"""What newcomers write, and where the hints lead them."""

import pytest

from kron.errors import KronError
from kron.language.dialect import AUTO, TABLE
from tests.language import newcomers

BLOCKS = newcomers.blocks()


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.text)
def test_answers_are_those_of_the_file(block):
    """`python -m tests.language.newcomers --write` writes the file again."""
    assert newcomers.answers(block.text) == block.answers


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.text)
def test_second_opinion_is_accepted_when_followed(block):
    for dialect in (*TABLE, AUTO):
        try:
            newcomers.read_as(block.text, dialect)
        except KronError as error:
            if "write" in error.details or "read_by" in error.details:
                assert newcomers.followed(block.text, dialect, error) != "-"


def test_file_has_at_least_60_texts_and_none_twice():
    texts = [block.text for block in BLOCKS]
    assert len(texts) == len(set(texts)) >= 60
