"""Every form of a schedule in a krontab file, and in a record that `kron verify` checks."""

import json

import pytest

from kron.language.canonical import canonical
from kron.language.krontab import read_table
from kron.language.reading import parse
from tests.forms import FOREIGN_FORMS, FORMS

TEXTS = [(form.whole, "plus") for form in FORMS] + [(text, dialect) for text, dialect, _ in FOREIGN_FORMS]
START = "2026-01-01T00:00:00Z"
GAP = "2026-03-28T12:00:00Z"  # the day before the clocks of Paris are set forward


def records(kron, *words, at=START):
    answer = kron("next", *words, "-n", "3", "--at", at, "--output", "json")
    assert answer.status == 0, answer.err
    return json.loads(answer.out)


def verified(kron, decisions):
    answer = kron("verify", stdin=json.dumps(decisions))
    assert answer.status == 0, answer.out
    assert answer.err == f"{len(decisions)} of {len(decisions)} decisions are correct\n"


@pytest.mark.parametrize(("text", "dialect"), TEXTS)
def test_form_on_a_line_means_the_same_as_alone(kron, krontab, text, dialect):
    path = krontab(f"{dialect}: {text} name=job command=true\n")
    (line,) = read_table(path.read_text(encoding="utf-8"), str(path)).lines
    assert line.job.schedule == parse(text, dialect=dialect)
    assert kron("lint", "-f", str(path)).status == 0
    shown = kron("fmt", "-f", str(path))
    assert canonical(line.job.schedule).text in shown.out
    of_file = records(kron, "-f", str(path))
    assert of_file == records(kron, text, "--dialect", dialect, "--identity", of_file[0]["identity"])
    verified(kron, of_file)


@pytest.mark.parametrize(("text", "dialect"), TEXTS)
def test_record_of_every_form_is_verified(kron, text, dialect):
    decisions = records(kron, text, "--dialect", dialect, "--identity", "a")
    verified(kron, decisions)
    moved = [{**decisions[0], "chosen_time": "2026-01-01T00:00:01Z"}, *decisions[1:]]
    answer = kron("verify", stdin=json.dumps(moved))
    assert (answer.status, answer.out.count("WRONG")) == (1, 1)


@pytest.mark.parametrize("text", [form.whole for form in FORMS if "@dst" in form.text])
def test_record_for_a_skipped_time_is_verified(kron, text):
    decisions = records(kron, text, "--dialect", "plus", "--identity", "a", at=GAP)
    assert decisions[0]["stands_for"].startswith("2026-03-29T02:30")
    verified(kron, decisions)
    other = {**decisions[0], "stands_for": "2026-03-29T02:31"}
    answer = kron("verify", stdin=json.dumps(other))
    assert answer.status == 1
    assert "stands_for: recorded 2026-03-29T02:31" in answer.out
