"""Pictures of the dashboard: those that README and the site show exist, and each has the size of its page."""

import re
import struct

import pytest

from tests.dashboard.screenshots import FOLDER, PAGES, SIZE, THEMES, name_of
from tests.docs.page import ROOT

MAX_BYTES = 400_000


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("page", PAGES)
def test_picture_exists_in_both_themes(page, theme):
    data = (FOLDER / name_of(page, theme)).read_bytes()
    assert struct.unpack(">II", data[16:24]) == (SIZE["width"], SIZE["height"])
    assert len(data) <= MAX_BYTES


@pytest.mark.parametrize("path", ["README.md", "docs/how-to/dashboard.md"])
def test_pages_show_pictures_that_are_made(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    shown = re.findall(r"dashboard-[a-z-]+\.png", text)
    assert shown
    assert set(shown) <= {name_of(page, theme) for page in PAGES for theme in THEMES}
