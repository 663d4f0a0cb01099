"""The schedule heatmap of section 12, byte for byte."""

import re
from pathlib import Path

import pytest

from kron.apps.cli.heatmap import heatmap

SAMPLES = sorted((Path(__file__).parents[1] / "vectors" / "heatmap").glob("*.crons.txt"))
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def test_there_are_four_samples():
    assert len(SAMPLES) == 4


@pytest.mark.req(
    "FUZZY-12-TITLE", "FUZZY-12-HOURS", "FUZZY-12-ROWS", "FUZZY-12-CELLS", "FUZZY-12-LEGEND", "FUZZY-12-ARTIFACT"
)
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name.split(".")[0])
def test_a_sample_is_drawn_byte_for_byte(path):
    expected = path.with_name(path.name.replace(".crons.", ".expected.")).read_bytes()
    assert heatmap(path.read_text(encoding="utf-8").splitlines()).encode() == expected


@pytest.mark.req("FUZZY-12-HOURS", "FUZZY-12-ROWS", "FUZZY-12-CELLS", "FUZZY-12-FIXED")
def test_the_grid_has_seven_rows_of_24_cells_of_one_width():
    lines = heatmap(["7 * * * 1-5", "0 */6 * * *", "0 0 * * MON"]).split("\n")
    assert lines[1] == "ℹ Schedule Heatmap (UTC)"
    assert lines[3].split() == [f"{hour:02d}" for hour in range(24)]
    rows = lines[4:11]
    assert [row[:3] for row in rows] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    assert all(len(row.split()) == 25 and set(row.split()[1:]) <= set("·░▒▓█") for row in rows)
    assert {len(line) for line in lines[3:11]} == {5 + 24 * 3}


@pytest.mark.req("FUZZY-12-LEGEND")
def test_the_legend_names_the_bucket_of_each_glyph():
    for count, glyph in ((1, "░"), (2, "▒"), (3, "▒"), (4, "▓"), (6, "▓"), (7, "█"), (50, "█")):
        text = heatmap(["5 3 * * 2"] * count)
        assert text.split("Tue")[1].split()[3] == glyph
    assert "Legend: · = 0   ░ = 1   ▒ = 2-3   ▓ = 4-6   █ = 7+" in text


@pytest.mark.req("FUZZY-12-EMPTY")
def test_without_schedules_there_is_nothing():
    assert heatmap([]) == ""


@pytest.mark.req("FUZZY-12-PLAIN", "FUZZY-12-ANSI")
def test_colour_changes_no_column():
    crons = SAMPLES[1].read_text(encoding="utf-8").splitlines()
    coloured = heatmap(crons, colour=True)
    assert "\x1b[" in coloured
    assert ANSI.sub("", coloured) == heatmap(crons)


def test_lines_that_count_days_of_the_month_may_start_on_any_weekday():
    assert heatmap(["0 0 1 * *"]) == heatmap(["0 0 * * *"])
