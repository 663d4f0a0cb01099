"""Placeholder + identifier -> cron: sections 6 to 8."""

import re
import subprocess
import sys
import zlib
from collections import Counter

import pytest
from scipy import stats

from kron.errors import KronError
from kron.language.fault import Fault
from kron.language.sentences import github, grammar
from kron.language.sentences.placeholder import Around, Between, Daily, Fortnightly, Hourly, Weekly, read_placeholder
from kron.language.sentences.pool import POOL, TIERS
from kron.language.sentences.scatter import _checked_line, draw, fnv1a, resolve, scatter, seed_of, workflow_identifier
from tests.language.scatter_oracle import POOL as EXPECTED_POOL
from tests.language.scatter_oracle import stretch_cron

IDENTIFIERS = [f"octo/repo-{n % 83}/.github/workflows/job-{n}.md" for n in range(10_000)]
QUIET = {2, 3, 4, 5, 10, 11, 12, 19, 20, 21, 22, 23}


def cron(text, identifier):
    return scatter(grammar.read(text), identifier).cron


def resolved(plan, seed):
    """The cron for a seed, whatever the identifier."""
    return resolve(plan, "any", lambda data: seed).cron


@pytest.mark.req("FUZZY-6.2.1-FNV", "FUZZY-6.2.1-DET", "FUZZY-6.2.1-STABLE", "FUZZY-6.2.1-INT", "FUZZY-6.5-1")
def test_the_hash_is_fnv1a_of_32_bits():
    assert fnv1a(b"") == 0x811C9DC5
    assert fnv1a(b"a") == 0xE40C292C
    assert seed_of("github/gh-aw/workflow.md") == 206228416
    assert seed_of("github/gh-aw/.github/workflows/daily-report.md") == 2731670618
    assert all(type(seed_of(i)) is int for i in IDENTIFIERS[:10])


@pytest.mark.req("FUZZY-6.1-ENT-SEED", "FUZZY-6.1-UNIQUENESS", "FUZZY-T-SCATTER-002", "FUZZY-T-SCATTER-003")
def test_seeds_are_unsigned_32_bit_integers_and_differ():
    seeds = [seed_of(identifier) for identifier in IDENTIFIERS]
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= draw(seed, n) < n for seed in seeds[:500] for n in (1, 7, 60, 120, 622, 1440))


@pytest.mark.req("FUZZY-6.2.1-DIST", "FUZZY-6.1-DISTRIBUTION")
@pytest.mark.parametrize("size", [60, 120, 480, 622])
def test_seeds_are_spread_evenly_over_what_is_drawn_from(size):
    counts = Counter(seed_of(identifier) % size for identifier in IDENTIFIERS)
    assert stats.chisquare([counts[n] for n in range(size)]).pvalue > 0.001


@pytest.mark.req("FUZZY-6.2.1-ALT")
def test_another_hash_of_32_bits_may_be_put_in():
    assert scatter(grammar.read("hourly"), "a", zlib.crc32).seed == zlib.crc32(b"a")


@pytest.mark.req("FUZZY-6.2.2-ID", "FUZZY-6.2.2-EX", "FUZZY-6.1-ENT-IDFMT", "FUZZY-6.2.2-DISTINCT")
def test_an_identifier_is_the_repository_and_the_path_in_it():
    path = ".github/workflows/daily-report.md"
    assert workflow_identifier("github/gh-aw", path) == "github/gh-aw/.github/workflows/daily-report.md"
    assert seed_of(workflow_identifier("a/x", path)) != seed_of(workflow_identifier("b/x", path))


@pytest.mark.req("FUZZY-R-SAFE-003", "FUZZY-6.1-ENT-ID")
def test_without_an_identifier_there_is_no_time():
    for text in ("daily", "hourly", "weekly", "bi-weekly", "daily around 9am", "every 2h"):
        with pytest.raises(KronError) as caught:
            cron(text, "")
        assert caught.value.code == "EMPTY_IDENTIFIER"
        assert "owner/repo/path" in caught.value.hint
    assert cron("every 5 minutes", "") == "*/5 * * * *"  # which is the same for everyone


@pytest.mark.req("FUZZY-9.5.1-SEED")
@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "7", None, True])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(KronError) as caught:
        scatter(grammar.read("daily"), "a", lambda data: seed)
    assert caught.value.code == "INVALID_SEED"


def test_half_a_character_in_an_identifier_is_refused_but_any_file_name_is_not():
    with pytest.raises(KronError) as caught:
        seed_of("a\ud800b")
    assert caught.value.code == "INVALID_SEED"
    assert seed_of("a\udcffb") == fnv1a(b"a\xffb")  # a name that is not UTF-8, as Python shows it


@pytest.mark.req("FUZZY-6.1-ENT-WINDOW")
def test_windows_have_1_to_1440_minutes():
    assert draw(7, 1) == 0
    assert draw(1441, 1440) == 1
    for window in (0, -1, 1441):
        with pytest.raises(KronError):
            draw(7, window)


@pytest.mark.req("FUZZY-6.3.1-POOL", "FUZZY-6.3.1-BEST", "FUZZY-6.3.1-GOOD", "FUZZY-6.3.1-OK", "FUZZY-6.3.1-PRECOMP")
@pytest.mark.req("FUZZY-6.4.2-SCOPE")
def test_the_pool():
    assert list(POOL) == EXPECTED_POOL
    assert len(POOL) == 622
    assert [(t.name, len(t.hours) * len(t.minutes) * t.weight) for t in TIERS] == [
        ("BEST", 72),
        ("GOOD", 300),
        ("OK", 250),
    ]
    often = Counter(POOL)
    weights = {slot: 3 if slot.hour <= 5 else 2 if slot.hour <= 12 else 1 for slot in POOL}
    assert often == weights
    assert {slot.hour for slot in POOL} == QUIET
    assert not {slot.hour for slot in POOL} & {6, 7, 8, 9, 14, 15, 16, 17, 18}


@pytest.mark.req("FUZZY-6.3.1-INDEX", "FUZZY-6.3.1-CRON", "FUZZY-3.2.1-SCATTER", "FUZZY-6.5-6", "FUZZY-CHG-POOL")
@pytest.mark.req("FUZZY-T-SCATTER-004", "FUZZY-T-SCATTER-011")
def test_daily_takes_the_slot_that_the_hash_points_at():
    seen = set()
    for identifier in IDENTIFIERS:
        hour, minute = EXPECTED_POOL[seed_of(identifier) % 622]
        assert cron("daily", identifier) == f"{minute} {hour} * * *"
        assert hour in QUIET
        seen.add((hour, minute))
    assert seen == set(POOL)
    assert resolved(Daily(None, 1), 0) == "7 2 * * 1-5"


@pytest.mark.req("FUZZY-6.3.1-EX", "FUZZY-6.3.5-EX", "FUZZY-6.3.5-CRON", "FUZZY-6.3.6-CRON")
def test_the_slot_02_23():
    index = POOL.index((2, 23))
    assert resolved(Daily(), index) == "23 2 * * *"
    assert resolved(Weekly(1), index) == "23 2 * * 1"
    assert resolved(Fortnightly(2), index) == "23 2 */14 * *"
    assert resolved(Fortnightly(3), index) == "23 2 */21 * *"


@pytest.mark.req("FUZZY-6.3.2-ALGO", "FUZZY-6.3.2-EX", "FUZZY-6.5-2")
def test_around_draws_from_120_minutes():
    assert "= 73, so 14:13, moved to 14:19" in resolve(Daily(Around(840)), "any", lambda data: 73).why
    assert resolved(Daily(Around(840)), 73) == "19 14 * * *"
    for target in range(0, 1440, 29):
        text = f"daily around {target // 60}:{target % 60:02d}"
        for identifier in IDENTIFIERS[:200]:
            placeholder = f"FUZZY:DAILY_AROUND:{target // 60}:{target % 60} * * *"
            assert cron(text, identifier) == stretch_cron(placeholder, identifier)


@pytest.mark.req("FUZZY-6.3.3-ALGO", "FUZZY-6.3.3-EX", "FUZZY-4.2.2-UNIFORM")
def test_between_draws_from_the_minutes_of_the_range():
    assert resolved(Daily(Between(540, 1020)), 217) == "37 12 * * *"
    for start, end in ((540, 1020), (1320, 120), (0, 1439), (1439, 0), (852, 860)):
        text = f"daily between {start // 60}:{start % 60:02d} and {end // 60}:{end % 60:02d}"
        placeholder = grammar.read(text).placeholder
        for identifier in IDENTIFIERS[:400]:
            assert cron(text, identifier) == stretch_cron(placeholder, identifier)
        size = (end - start) % 1440
        assert f"% {size} = {seed_of('x') % size}" in scatter(grammar.read(text), "x").why


@pytest.mark.req("FUZZY-T-SCATTER-007")
def test_a_range_across_midnight_reaches_both_days():
    hours = {int(cron("daily between 22:00 and 02:00", identifier).split()[1]) for identifier in IDENTIFIERS[:500]}
    assert hours == {22, 23, 0, 1}


@pytest.mark.req("FUZZY-3.4.1-CONSISTENT", "FUZZY-3.4.1-EX", "FUZZY-6.3.4-HOURLY", "FUZZY-6.3.4-HOURLY-EX")
@pytest.mark.req("FUZZY-6.3.4-HOURLYN", "FUZZY-6.3.4-HOURLYN-EX", "FUZZY-3.4.2-EX", "FUZZY-T-SCATTER-008")
def test_hourly_keeps_one_minute_off_the_hour():
    assert resolved(Hourly(), 43) == "43 * * * *"
    assert resolved(Hourly(2), 53) == "53 */2 * * *"
    assert resolved(Hourly(2, True), 53) == "53 */2 * * 1-5"
    for seed in range(60):
        minute = seed + 5 if seed < 5 else seed - 5 if seed > 54 else seed
        assert resolved(Hourly(), seed + 60_000) == f"{minute} * * * *"
        assert resolved(Hourly(6), seed) == f"{minute} */6 * * *"


@pytest.mark.req("FUZZY-3.3.1-SCATTER", "FUZZY-6.3.5-DAY", "FUZZY-6.3.5-TIME", "FUZZY-T-SCATTER-009")
@pytest.mark.req("FUZZY-T-SCATTER-015")
def test_weekly_scatters_over_the_days_and_the_pool():
    days = Counter()
    for identifier in IDENTIFIERS:
        seed = seed_of(identifier)
        hour, minute = POOL[seed % 622]
        assert cron("weekly", identifier) == f"{minute} {hour} * * {seed % 7}"
        days[seed % 7] += 1
    assert stats.chisquare([days[day] for day in range(7)]).pvalue > 0.001
    for day in range(7):
        assert resolved(Weekly(day), 1234).endswith(f" * * {day}")


@pytest.mark.req("FUZZY-T-SCATTER-016", "FUZZY-6.5-6")
def test_two_and_three_weeks_use_the_pool():
    for identifier in IDENTIFIERS[:2_000]:
        hour, minute = POOL[seed_of(identifier) % 622]
        assert cron("bi-weekly", identifier) == f"{minute} {hour} */14 * *"
        assert cron("tri-weekly", identifier) == f"{minute} {hour} */21 * *"


def test_the_weekday_moves_with_the_scatter():
    late, early = Weekly(1, Around(23 * 60 + 30)), Weekly(1, Around(30))
    assert resolved(early, 0) == "30 23 * * 0"
    assert resolved(early, 60) == "30 0 * * 1"
    assert resolved(late, 110) == "20 0 * * 2"
    assert resolved(Weekly(6, Between(22 * 60, 2 * 60)), 150) == "30 0 * * 0"
    assert resolved(Daily(Around(30), 1), 0) == "30 23 * * 0-4"
    assert resolved(Daily(Around(23 * 60 + 30), 1), 110) == "20 0 * * 2-6"
    assert resolved(Daily(Around(30), 0), 0) == "30 23 * * 0-3,6"
    assert resolved(Daily(Between(11 * 60, 10 * 60), 2), 1000) == "40 3 * * 0,3-6"


@pytest.mark.req("FUZZY-6.1-DETERMINISM", "FUZZY-6.1-STABILITY", "FUZZY-T-SCATTER-001", "FUZZY-T-SCATTER-010")
@pytest.mark.req("FUZZY-1.3-DETERMINISM", "FUZZY-6.5-1")
def test_a_fresh_process_finds_the_same_times():
    texts = ["daily", "weekly", "hourly", "daily around 9am", "weekly on friday between 22:00 and 3:00", "tri-weekly"]
    program = f"""
from kron.language.sentences import grammar as fuzzy
from kron.language.sentences.scatter import scatter
for text in {texts!r}:
    for n in range(50):
        print(scatter(fuzzy.read(text), f"a/b/{{n}}.md").cron)
"""
    expected = "".join(f"{cron(text, f'a/b/{n}.md')}\n" for text in texts for n in range(50))
    for seed in ("0", "77"):
        result = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        )
        assert result.stdout == expected


@pytest.mark.req("FUZZY-R-SAFE-002")
def test_the_same_identifier_and_sentence_always_give_the_same_minute():
    for text in ("daily around 8:30", "daily between 14:00 and 15:00", "weekly on monday around 7am"):
        for identifier in IDENTIFIERS[:50]:
            assert len({cron(text, identifier) for _ in range(5)}) == 1


def test_a_window_without_a_good_minute_is_warned_about():
    for text, lost in (("daily between 9:00 and 9:03", "full hour"), ("daily between 14:13 and 14:17", "peak")):
        findings = scatter(grammar.read(text), "a").findings
        assert [finding.code for finding in findings] == ["NARROW_WINDOW"]
        assert lost in findings[0].message
        assert findings[0].place.text == text
    assert not scatter(grammar.read("daily between 9:00 and 9:30"), "a").findings


@pytest.mark.req("FUZZY-7.3-RESOLVE", "FUZZY-7.3-STEPS")
def test_a_placeholder_is_resolved_later_as_its_sentence_would_be():
    for text in ("daily", "daily around 9am utc+9", "weekly on monday", "hourly", "tri-weekly", "every 8h"):
        sentence = grammar.read(text)
        assert resolve(read_placeholder(sentence.placeholder), "o/r/w.md").cron == scatter(sentence, "o/r/w.md").cron


@pytest.mark.req("FUZZY-7.3-STEPS")
@pytest.mark.parametrize(
    "placeholder",
    [
        "FUZZY:DAILY * * *",
        "FUZZY:DAILY_AROUND:14:0 * * *",
        "FUZZY:DAILY_BETWEEN:22:0:2:0 * * *",
        "FUZZY:WEEKLY * * *",
        "FUZZY:WEEKLY:5:AROUND:17:0 * * 5",
        "FUZZY:HOURLY * * *",
        "FUZZY:HOURLY:6 * * *",
        "FUZZY:BI-WEEKLY * * *",
        "FUZZY:TRI-WEEKLY * * *",
    ],
)
def test_a_line_that_the_validator_refuses_is_not_handed_out(monkeypatch, placeholder):
    plan = read_placeholder(placeholder)
    line = resolve(plan, "o/r/w.md").cron
    assert len(line.split()) == 5
    assert github.read(line)

    def refuse(text):
        raise Fault("CRON", f"refused: {text}", 0, 1, "")

    monkeypatch.setattr(github, "read", refuse)
    _checked_line.cache_clear()  # it remembers what it has seen
    with pytest.raises(Fault, match=re.escape(f"refused: {line}")):
        resolve(plan, "o/r/w.md")


@pytest.mark.req("FUZZY-7.4-FIELDS", "FUZZY-7.4-RANGES", "FUZZY-T-CRON-001", "FUZZY-T-CRON-002", "FUZZY-T-CRON-003")
@pytest.mark.req("FUZZY-T-CRON-004", "FUZZY-T-CRON-005", "FUZZY-T-CRON-006", "FUZZY-7.3-STEPS")
def test_the_lines_that_github_takes():
    for line in (
        "0 0 * * *",
        "59 23 31 12 6",
        "*/5 * * * *",
        "* */2 * * 0",
        "7 4 */14 * *",
        "0 9 * * 1-5",
        "0 0 1 */2 *",
    ):
        assert github.read(line)
    refused = ("60 0 * * *", "0 24 * * *", "0 0 32 * *", "0 0 0 * *", "0 0 * 13 *", "0 0 * * 7", "0 0 * *")
    refused += (
        "0 0 * * * *",
        "*/0 * * * *",
        "0 */25 * * *",
        "*/60 * * * *",
        "0 0 */32 * *",
        "1,2 0 * * *",
        "0-5 0 * * *",
    )
    refused += ("0 0 * * MON", "0 0 * * */2", "0 0 */N*7 * *", "@daily", "")
    for line in refused:
        with pytest.raises(Fault):
            github.read(line)


@pytest.mark.req("FUZZY-C.2-PREDICT")
def test_how_a_time_was_found_can_be_told():
    assert scatter(grammar.read("daily"), "github/gh-aw/workflow.md").why == "206228416 % 622 = 584, the slot 23:17"
    assert scatter(grammar.read("hourly"), "github/gh-aw/workflow.md").why == "206228416 % 60 = 16"
    assert scatter(grammar.read("every 2 days"), "x").why == "the same for every identifier"
