"""A short soak, its verdict and its picture; `make soak` for the long one."""

from xml.etree import ElementTree

import pytest

from tests.campaigns.soak import __main__ as soak
from tests.campaigns.soak.picture import picture
from tests.campaigns.soak.sampling import Sample
from tests.campaigns.soak.verdict import judged

FLAT = [
    Sample(n * 10.0, 4_000_000, 2_000_000, 500 + n % 7 * 100, n * 9_000_000, n, 1, 1000, 90, 300, 500)
    for n in range(30)
]


def grown(**by):
    """Samples of which something grows to so many times, in the last third."""
    return FLAT[:20] + [s._replace(**{name: getattr(s, name) * times for name, times in by.items()}) for s in FLAT[20:]]


def names(samples):
    return [name.split(",")[0] for name, _, _, flat in judged(samples) if not flat]


def test_what_stays_is_flat_and_what_grows_is_named():
    assert names(FLAT) == []
    assert names(grown(table=2)) == ["table of what is due"]
    assert names(grown(indexes=2)) == ["its indexes"]
    assert names(grown(dead=10)) == ["dead rows"]
    assert names(grown(p50=3, p99=3)) == ["from due to done p50", "from due to done p99"]
    assert names(grown(ledger=5)) == []  # which is its nature


def test_the_picture_shows_every_sample():
    drawn = ElementTree.fromstring(picture(FLAT, "a < b"))
    lines = [each for each in drawn.iter() if each.tag.endswith("polyline")]
    assert [len(line.get("points").split()) for line in lines] == [30] * 6


@pytest.mark.campaign
def test_a_short_soak(tmp_path):
    words = ["--minutes", "1", "--rate", "20", "--every", "2", "--folder", str(tmp_path), "--picture"]
    tmp_path.chmod(0o755)
    assert soak.main([*words, str(tmp_path / "soak.svg")]) == 0
