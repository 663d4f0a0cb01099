"""Pages: how long each takes, how large it is, what it asks the store, and how the store finds the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests import spent

from benchmarks.ui.addresses import Template
from benchmarks.ui.plans import PlanLog, Query
from benchmarks.ui.site import Site

MAX_P99_SECONDS = 0.100
MAX_BYTES = 60_000
MAX_QUESTIONS = 8  # transactions of one page, except that of the clock
WARM_UP = 2  # requests to each address that are not counted


@dataclass
class PageResult:
    """Measurements of one page, with the worst address of each kind."""

    times: list[float] = field(default_factory=list)
    templates: int = 0
    cpu: float = 0.0  # seconds of the dashboard process, all requests together
    slowest: tuple[float, str] = (0.0, "")
    largest: tuple[int, str] = (0, "")
    most_questions: tuple[int, str] = (0, "")
    most_rows: tuple[int, str] = (0, "")
    scans: dict[str, str] = field(default_factory=dict)  # tables that were scanned, each with an address

    @property
    def faults(self) -> list[str]:
        """What exceeds the limits."""
        faults = [f"scans {table} ({address})" for table, address in self.scans.items()]
        if quantile(self.times, 0.99) >= MAX_P99_SECONDS:
            faults.append(f"p99 {quantile(self.times, 0.99) * 1000:.0f} ms (slowest: {self.slowest[1]})")
        if self.largest[0] >= MAX_BYTES:
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
        spent_before = spent.of([site.pid])
        for number in range(-WARM_UP, requests):
            address = template.address(number)
            reply = site.get(address)
            assert reply.status in (200, 303), (reply.status, address, reply.body[-2_000:])
            if number >= 0:
                result.times.append(reply.seconds)
                result.slowest = max(result.slowest, (reply.seconds, address))
            result.largest = max(result.largest, (len(reply.body), address))
        result.cpu += spent.between(spent_before, spent.of([site.pid]))
    log.switch(is_on=True)
    site.get("/")
    log.read()
    for template in templates:
        site.get(template.address(0))
        results[template.page].add_plans(template.address(0), log.read())
    log.switch(is_on=False)
    return results


def print_pages(results: dict[str, PageResult]) -> int:
    """Print the measurements. Returns the number of pages that exceed a limit."""
    print(f"{'page':<28}{'requests':>9}{'p50 ms':>8}{'p99 ms':>8}{'max ms':>8}{'CPU ms':>8}{'KB':>6}{'questions':>11}{'rows':>9}")
    failed = 0
    for page, result in results.items():
        p50, p99 = quantile(result.times, 0.5) * 1000, quantile(result.times, 0.99) * 1000
        cpu = result.cpu * 1000 / (len(result.times) + WARM_UP * result.templates)
        print(
            f"{page:<28}{len(result.times):>9,}{p50:>8.1f}{p99:>8.1f}{result.slowest[0] * 1000:>8.0f}"
            f"{cpu:>8.1f}{result.largest[0] / 1000:>6.1f}{result.most_questions[0]:>11}{result.most_rows[0]:>9,}"
        )
        failed += bool(result.faults)
        for fault in result.faults:
            print(f"    FALLS SHORT: {fault}")
    return failed


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that so many are no larger than."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
