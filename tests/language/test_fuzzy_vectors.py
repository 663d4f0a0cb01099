"""The 8,148 vectors of sentences: exact where the literal algorithm binds, by the rules elsewhere, refused by code."""

import json
from collections import Counter
from pathlib import Path

import pytest

from kron.errors import KronError
from kron.language import parse
from kron.language.fault import Fault
from kron.language.sentences import grammar
from kron.language.sentences.scatter import fnv1a, scatter
from kron.language.sentences.sentence_errors import CODES
from tests.language.scatter_oracle import literal_leaves_the_window, stretch_cron

VECTORS = Path(__file__).parents[1] / "vectors" / "fuzzy.jsonl"
ROWS = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]

# what a hint of the vectors means in codes of our own, where it is not one of them
CLASSES = {
    "EXTRA_TOKEN": {"UNEXPECTED_TOKEN", "UNSUPPORTED_SYNTAX"},
    "EMPTY": {"UNKNOWN_KEYWORD"},
    "R-SAFE-003": {"EMPTY_IDENTIFIER"},
}
UNCLEAR = {
    "AMBIGUOUS_TZ": None,  # PT is read as PST, with a warning
    "CRON_FIELD_OVERFLOW": "UNSUPPORTED_INTERVAL",
}


def compiled(row):
    sentence = grammar.read(row["expression"])
    return sentence.placeholder, scatter(sentence, row["identifier"]).cron


def refusal(row):
    with pytest.raises((Fault, KronError)) as caught:
        compiled(row)
    return caught.value.code


def check_accepted(row):
    """How the row was checked."""
    placeholder, cron = compiled(row)
    assert parse(row["expression"], dialect="fuzzy", identity=row["identifier"] or "any").zone.name == "UTC"
    expected = row.get("placeholder", row["cron"])
    shift = row.get("day_shift_offset", 0)
    if row["cron"] == "0 0 */7 * *" and "w" in row["expression"]:
        assert cron == placeholder == "0 0 * * 0"
        return "one week, on Sunday (C-000-18)"
    if row.get("in_window") is False or "day_shift_scatter" in row or shift:
        assert cron == stretch_cron(expected, row["identifier"], shift)
        assert placeholder.split()[0].split(":")[-2:] == expected.split()[0].split(":")[-2:]
        return "by the rules (C-000-14, C-000-17)"
    assert placeholder == expected
    if literal_leaves_the_window(expected, row["identifier"]):
        assert "in_window" not in row
        assert cron == stretch_cron(expected, row["identifier"])
        return "by the rules, though the row does not say so"
    assert cron == row["cron"]
    return "exact"


def check_refused(row):
    code = refusal(row)
    hint = row["code"]
    assert hint == code or hint in CODES.get(code, (None, ()))[1] or code in CLASSES.get(hint, ()), (row, code)
    return "refused"


def check_unclear(row):
    """Rows that the document leaves open; the resolutions and the README of the specification decide."""
    if row.get("code") == "GRAMMAR_OK_NO_PLACEHOLDER":  # 3.1 allows it: the hash chooses the day, as for `weekly`
        placeholder, cron = compiled(row)
        assert (placeholder.split(":")[1], cron.split()[4]) == ("WEEKLY", str(fnv1a(row["identifier"].encode()) % 7))
        return "unclear: read, on the day of the hash"
    if "code" in row:
        wanted = UNCLEAR[row["code"]]
        if wanted:
            assert refusal(row) == wanted
            return "unclear: refused"
        sentence = grammar.read(row["expression"])
        assert "AMBIGUOUS_ZONE" in [finding.code for finding in sentence.findings]
        return "unclear: read, with a warning"
    if row["expression"].endswith("on weekdays"):  # of a fixed interval
        assert refusal(row) == "UNEXPECTED_TOKEN"
        return "unclear: refused"
    assert compiled(row) == (row["placeholder"], row["cron"])  # `3 pm` in two words
    return "unclear: exact"


@pytest.mark.req(
    "FUZZY-1.3-DETERMINISM",
    "FUZZY-2.1-EXPR",
    "FUZZY-2.1-SCATTER",
    "FUZZY-6.1-STABILITY",
    "FUZZY-6.2.1-STABLE",
    "FUZZY-7.3-RESOLVE",
    "FUZZY-9.1-REJECT",
    "FUZZY-9.5.4-STABLE",
    "FUZZY-11-CHANGE",
)
@pytest.mark.req("FUZZY-2.1-IMPL")
def test_every_vector_holds():
    kinds = Counter()
    for row in ROWS:
        check = {"accept": check_accepted, "implied": check_accepted, "reject": check_refused}
        kinds[check.get(row["verdict"], check_unclear)(row)] += 1
    print(*(f"{count:5}  {kind}" for kind, count in kinds.most_common()), sep="\n")
    assert kinds == {
        "exact": 6520,
        "by the rules (C-000-14, C-000-17)": 740,
        "by the rules, though the row does not say so": 17,
        "one week, on Sunday (C-000-18)": 6,
        "refused": 748,
        "unclear: refused": 82,
        "unclear: exact": 26,
        "unclear: read, with a warning": 7,
        "unclear: read, on the day of the hash": 2,
    }
    assert kinds.total() == 8148
