import json

import pytest

GOOD = "0 0 * * * @tz(UTC) @win(after,3h) @policy(deadline=30m) name=backup command=/usr/local/bin/backup\n"


@pytest.mark.req("KSYN-CLI-LINT")
def test_a_good_file_passes(kron, krontab):
    result = kron("lint", "-f", str(krontab(GOOD)))
    assert (result.status, result.out) == (0, "")
    assert result.err == "0 errors, 0 warnings, 0 notes\n"


@pytest.mark.req("KSYN-CLI-LINT")
def test_every_bad_line_of_a_file_is_shown_with_its_place(kron, krontab):
    path = krontab(f"# jobs\n{GOOD}0 25 * * * name=a command=x\n0 0 * * * name=b comand=x\n")
    result = kron("lint", "-f", str(path))
    assert result.status == 1
    assert f"{path}:3:3: error[OUT_OF_RANGE]: hour field value 25" in result.out
    assert "  0 25 * * * name=a command=x\n    ^^\n" in result.out
    assert f"{path}:4:18: error[UNKNOWN_KEY]" in result.out
    assert "did you mean 'command'?" in result.out
    assert result.err == "2 errors, 0 warnings, 0 notes\n"


@pytest.mark.req("KSYN-DIST-MVP-LINT", "KSYN-EX-LINTONLY")
@pytest.mark.parametrize(
    "text",
    [
        "0 10 * * * @win(around,2h) @dist(normal,sigma=20m)",
        "0 10 * * * @win(after,2h)  @dist(exponential,dir=early,lambda=1.2)",
    ],
)
def test_the_examples_that_the_document_only_lints_pass_lint_and_are_executed_too(kron, text):
    # The document calls their absence from explain and next a state of its first release, not a rule.
    assert kron("lint", text).status == 0
    result = kron("explain", text, "--identity", "a", "--period", "2026-03-01T10:00:00Z")
    assert result.status == 0
    assert "chosen " in result.out


def test_warnings_fail_only_under_strict(kron):
    text = "*/14 * * * * @policy(deadline=1m)"
    assert kron("lint", text).status == 0
    result = kron("lint", text, "--strict")
    assert result.status == 1
    assert "warning[UNEVEN_STEP]" in result.out


def test_an_impossible_date_is_an_error_in_every_dialect(kron):
    for dialect in ("kron", "posix", "service"):
        result = kron("lint", "0 0 30 2 *", "--dialect", dialect)
        assert result.status == 1
        assert "error[NEVER]" in result.out


def test_a_clock_change_ahead_is_foretold_from_the_given_instant(kron):
    text = "30 2 * * * @tz(Europe/Berlin)"
    assert "2026-03-29 02:30 does not exist" in kron("lint", text, "--at", "2026-01-01T00:00:00Z").out
    assert "2027-03-28 02:30 does not exist" in kron("lint", text, "--at", "2026-05-01T00:00:00Z").out


def test_json_names_the_place_for_a_program(kron, krontab):
    path = krontab("0 25 * * * name=a command=x\n")
    (finding,) = json.loads(kron("lint", "-f", str(path), "--output", "json").out)
    assert "hour field value 25" in finding["message"]
    assert finding == {
        "level": "error",
        "code": "OUT_OF_RANGE",
        "message": finding["message"],
        "hint": finding["hint"],
        "file": str(path),
        "line": 1,
        "text": "0 25 * * * name=a command=x",
        "start": 2,
        "end": 4,
    }


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("0 * * * *", ["DST_GAP"]),  # 02:00 does not exist on 2026-10-04; 01:30 to 02:00 is repeated on 2027-04-04
        ("45 * * * *", ["DST_FOLD"]),
        ("*/20 * * * *", ["DST_GAP", "DST_FOLD"]),
        ("*/30 * * * *", []),
        ("* * * * *", []),
        ("10-19,40-49 * * * *", []),
    ],
)
def test_hourly_schedules_are_checked_for_changes_of_half_an_hour(kron, line, codes):
    text = f"{line} @tz(Australia/Lord_Howe) @policy(deadline=1m)"
    findings = json.loads(kron("lint", text, "--at", "2026-06-01T00:00:00Z", "--output", "json").out)
    assert [finding["code"] for finding in findings] == codes
    if codes == ["DST_GAP"]:
        assert findings[0]["message"] == (
            "in Australia/Lord_Howe the time 2026-10-04 02:00 does not exist, so there is no run"
        )
        assert "every 30 minutes" in findings[0]["hint"]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("0 * * * * @tz(Europe/Paris)", []),
        ("0 * * * SUN @tz(Europe/Paris)", []),
        ("0 * * * SUN @tz(America/Santiago)", ["DST_GAP"]),  # Sunday begins at 01:00
        ("0 * * * * @tz(America/Santiago)", []),
    ],
)
def test_hourly_schedules_are_even_over_a_change_of_an_hour(kron, text, codes):
    result = kron("lint", f"{text} @policy(deadline=1m)", "--at", "2026-08-01T00:00:00Z", "--output", "json")
    assert [finding["code"] for finding in json.loads(result.out)] == codes
