"""Pages: how long each takes, how large it is, what it asks the store, and how the store finds the answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, nan

from tests import spent

from benchmarks.ui.addresses import Template
from benchmarks.ui.plans import PlanLog, Query
from benchmarks.ui.site import Reply, Site

MAX_P99_SECONDS = 0.100
MAX_BYTES = 60_000  # of a page
MAX_CALENDAR_BYTES = 300_000  # of a calendar file with 1,000 runs, which is downloaded
MAX_QUESTIONS = 8  # transactions of one page, except that of the clock
WARM_UP = 2  # requests to each address that are not counted


@dataclass
class PageResult:
    """Measurements of one page, with the worst address of each kind."""

    times: list[float] = field(default_factory=list)
    calm_times: list[float] = field(default_factory=list)  # of requests during which the host took no CPU
    host_cpu: float = 0.0  # seconds that the host of the virtual machine took
    templates: int = 0
    page_cpu: float = 0.0  # seconds of the dashboard process, all requests together
    store_cpu: float = 0.0  # seconds of the database server
    slowest: tuple[float, str] = (0.0, "")
    largest: tuple[int, str] = (0, "")
    most_questions: tuple[int, str] = (0, "")
    most_rows: tuple[int, str] = (0, "")
    scans: dict[str, str] = field(default_factory=dict)  # tables that were scanned, each with an address

    @property
    def faults(self) -> list[str]:
        """What exceeds the limits."""
        faults = [f"scans {table} ({address})" for table, address in self.scans.items()]
        if self.times and quantile(self.times, 0.99) >= MAX_P99_SECONDS:
            faults.append(f"p99 {quantile(self.times, 0.99) * 1000:.0f} ms (slowest: {self.slowest[1]})")
        is_calendar = self.largest[1].partition("?")[0].endswith(".ics")
        if self.largest[0] >= (MAX_CALENDAR_BYTES if is_calendar else MAX_BYTES):
            faults.append(f"{self.largest[0]:,} bytes ({self.largest[1]})")
        if self.most_questions[0] > MAX_QUESTIONS:
            faults.append(f"{self.most_questions[0]} questions to the store ({self.most_questions[1]})")
        return faults

    def add_plans(self, address: str, queries: Sequence[Query]) -> None:
        """Add the queries of one request."""
        questions = len({query.transaction for query in queries})
        self.most_questions = max(self.most_questions, (questions, address))
        self.most_rows = max(self.most_rows, (max((query.rows_read for query in queries), default=0), address))
        for query in queries:
            for table in query.scans:
                self.scans.setdefault(table, address)


def measured_pages(site: Site, log: PlanLog, templates: Sequence[Template], requests: int) -> dict[str, PageResult]:
    """Time the requests to all pages; then request each address once more, and read the plans of its queries."""
    results = dict[str, PageResult]()
    for template in templates:
        result = results.setdefault(template.page, PageResult())
        result.templates += 1
        spent_before = spent.of([site.pid]), spent.of_server(log.server)
        for number in range(-WARM_UP if requests else 0, requests):
            address, taken = template.address(number), spent.by_host()
            reply = _opened(site, address)
            taken = spent.by_host() - taken
            if number >= 0:
                result.times.append(reply.seconds)
                result.calm_times += [] if taken else [reply.seconds]
                result.host_cpu += taken
                result.slowest = max(result.slowest, (reply.seconds, address))
            result.largest = max(result.largest, (len(reply.body), address))
        result.page_cpu += spent.between(spent_before[0], spent.of([site.pid]))
        result.store_cpu += spent.between(spent_before[1], spent.of_server(log.server))
    log.switch(is_on=True)
    site.get("/")
    log.read()
    for template in templates:
        address, result = template.address(0), results[template.page]
        result.largest = max(result.largest, (len(_opened(site, address).body), address))
        result.add_plans(address, log.read())
    log.switch(is_on=False)
    return results


def _opened(site: Site, address: str) -> Reply:
    reply = site.get(address)
    assert reply.status in (200, 303), (reply.status, address, reply.body[-2_000:])
    return reply


def print_pages(results: dict[str, PageResult]) -> int:
    """Print the measurements. Returns the number of pages that exceed a limit."""
    titles = (
        "requests",
        "p50 ms",
        "p99 ms",
        "max ms",
        "calm",
        "calm p99",
        "CPU ms",
        "store",
        "KB",
        "questions",
        "rows",
    )
    print(f"{'page':<28}" + "".join(f"{title:>10}" for title in titles))
    failed = 0
    for page, result in results.items():
        requests = len(result.times) + WARM_UP * result.templates
        waits = (*(quantile(result.times, share) for share in (0.5, 0.99)), result.slowest[0])
        calm = quantile(result.calm_times, 0.99) if result.calm_times else nan
        costs = calm * 1000, result.page_cpu * 1000 / requests, result.store_cpu * 1000 / requests
        counts = result.most_questions[0], result.most_rows[0]
        print(
            f"{page:<28}{len(result.times):>10,}"
            + "".join(f"{value * 1000:>10.1f}" for value in waits)
            + f"{len(result.calm_times):>10,}"
            + "".join(f"{value:>10.1f}" for value in (*costs, result.largest[0] / 1000))
            + "".join(f"{count:>10,}" for count in counts)
        )
        failed += bool(result.faults)
        for fault in result.faults:
            print(f"    FALLS SHORT: {fault}")
    _print_host(results.values())
    return failed


def _print_host(results: Iterable[PageResult]) -> None:
    """Say how much of the CPU the host of the virtual machine took: its pauses are in the times of the pages."""
    results = list(results)
    taken, lasted = sum(each.host_cpu for each in results), sum(sum(each.times) for each in results)
    if taken:
        print(f"the host took {taken:.0f} s of CPU in {lasted:.0f} s; calm: requests in which it took none")


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least so many are no larger than (the nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * share) - 1)]
