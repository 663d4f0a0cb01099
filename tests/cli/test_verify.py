import json

WORDS = ("next", "0 0 * * * @win(after,3h)", "--identity", "a", "-n", "3", "--output", "json")


def test_what_next_wrote_is_right(kron):
    written = kron(*WORDS).out
    result = kron("verify", stdin=written)
    assert result.status == 0
    assert len(result.out.splitlines()) == 3
    assert result.err == "3 of 3 decisions are correct\n"


def test_one_decision_a_line_is_read_as_well_and_from_a_file(kron, tmp_path):
    path = tmp_path / "log"
    path.write_text("\n".join(json.dumps(one) for one in json.loads(kron(*WORDS).out)))
    assert kron("verify", str(path)).status == 0


def test_a_tampered_decision_is_named_with_what_differs(kron):
    decisions = json.loads(kron(*WORDS).out)
    decisions[1]["chosen_time"] = "2026-01-01T00:00:00Z"
    result = kron("verify", stdin=json.dumps(decisions))
    assert result.status == 1
    assert "WRONG  a " in result.out
    assert "chosen_time: recorded 2026-01-01T00:00:00Z, computed 20" in result.out
    found = json.loads(kron("verify", "--output", "json", stdin=json.dumps(decisions)).out)
    assert [one["ok"] for one in found] == [True, False, True]


def test_what_is_no_decision_is_refused(kron):
    for text in ("", "nonsense", "[]", "[1]", "{}", "[" * 100_000, '{"identity": "a"}'):
        result = kron("verify", stdin=text)
        assert (result.status, result.out) == (1, "")
        assert "error[NOT_A_DECISION]" in result.err
