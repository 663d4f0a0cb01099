"""Pictures of the dashboard for README and the site: `make screenshots`.

    python -m tests.dashboard.screenshots [FOLDER]

The store is the seeded one, whose clock stands still, so that the same code makes the same pictures, in light and dark.
"""

import asyncio
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from kron.engine.clock import SystemTimer
from kron.engine.load_pass import LoadPass
from tests.dashboard.conftest import CHROMIUM
from tests.dashboard.seeded import NOW, seeded_memory
from tests.dashboard.served import dashboard_of, in_thread, served
from tests.docs.page import ROOT

FOLDER = ROOT / "docs" / "pictures"
PAGES = {"overview": "/", "schedule": "/schedules/billing.invoices", "load": "/load"}
SIZE = {"width": 1440, "height": 900}
THEMES = ("light", "dark")


def name_of(page, theme):
    """Return the name of the file of a picture."""
    return f"dashboard-{page}-{theme}.png"


async def count_load(store):
    """Count the coming runs, as the oldest worker does every 10 minutes."""
    workers = [worker for worker in await store.overview.workers() if worker.until > NOW * 1000]
    oldest = min(workers, key=lambda worker: (worker.joined, worker.owner))
    assert await LoadPass(store, SystemTimer(), oldest.owner).once()


def main(folder):
    """Write all pictures, and print their names and sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    store = in_thread(seeded_memory)
    in_thread(asyncio.run, count_load(store))
    with served(dashboard_of(store)) as site, sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        for theme in THEMES:
            context = chromium.new_context(timezone_id="Europe/Paris", viewport=SIZE, color_scheme=theme)
            context.add_cookies([{"name": "kron_zone", "value": "Europe/Paris", "url": site.address}])
            page = context.new_page()
            page.clock.set_fixed_time(NOW * 1000)
            for name, address in PAGES.items():
                page.goto(site.address + address)
                page.evaluate("document.fonts.ready")
                path = folder / name_of(name, theme)
                page.screenshot(path=path, animations="disabled")
                print(f"{path}  {path.stat().st_size // 1024} KB")
        chromium.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
