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


def test_another_tz_database_is_named_where_a_decision_differs(kron):
    words = ("next", "0 9 * * * @tz(Europe/Paris)", "-n", "1", "--at", "2026-03-01T00:00:00Z", "--output", "json")
    (right,) = json.loads(kron(*words).out)
    other = {**right, "tz": "2019a", "tz_fingerprint": "00000000"}
    assert kron("verify", stdin=json.dumps(other)).status == 0
    moved = {**other, "period_id": "2026-03-01T07:00:00Z"}
    result = kron("verify", stdin=json.dumps(moved))
    assert result.status == 1
    assert result.out.splitlines()[1:] == [
        "       period_id: recorded 2026-03-01T07:00:00Z, computed None",
        f"       another tz database (2019a there, {right['tz']} here)",
    ]
    rebuilt = {**moved, "tz": right["tz"]}
    said = kron("verify", stdin=json.dumps(rebuilt)).out.splitlines()
    assert said[2] == f"       another build of tz database {right['tz']}"
    (found,) = json.loads(kron("verify", "--output", "json", stdin=json.dumps(moved)).out)
    assert found["differences"][1] == {"field": "tz", "recorded": "2019a", "computed": right["tz"]}


def test_what_is_no_decision_is_refused(kron):
    for text in ("", "nonsense", "[]", "[1]", "{}", "[" * 100_000, '{"identity": "a"}'):
        result = kron("verify", stdin=text)
        assert (result.status, result.out) == (1, "")
        assert "error[NOT_A_DECISION]" in result.err
