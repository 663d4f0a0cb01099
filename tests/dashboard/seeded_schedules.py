"""Schedules of the seeded store: texts, zones, labels, policies and targets."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from kron.language import parse
from kron.language.source import source_of
from kron.timing.job import Job
from kron.timing.labels import label_tuple
from kron.timing.schedule.policy import APPLICATION, KRON, MINUTE, SECOND, SERVICE, Completion, Overlap, Policy

LATE_START = replace(KRON, deadline=10 * MINUTE)
FOUR_ATTEMPTS = replace(LATE_START, launch_attempts=4, launch_backoff=2 * SECOND, launch_jitter=0)
SERVED = replace(SERVICE, completion=Completion.REPORTED)
TIMED = replace(LATE_START, timeout=10 * MINUTE)
PARIS, NEW_YORK = "Europe/Paris", "America/New_York"


class Row(NamedTuple):
    """One schedule."""

    name: str
    text: str
    zone: str = "UTC"
    labels: str = ""  # teams and tiers, separated by spaces
    policy: Policy = LATE_START
    target: str = "https://jobs.acme.example/run"


DAILY = (
    Row(
        "billing.invoices",
        "30 2 * * * @win(after,1h)",
        PARIS,
        "billing tier-1",
        FOUR_ATTEMPTS,
        "https://billing.acme.example/invoices",
    ),
    Row(
        "billing.dunning",
        "0 9 * * 1-5 @win(after,45m)",
        NEW_YORK,
        "billing",
        target="https://billing.acme.example/dunning",
    ),
    Row("billing.reminders", "5 3 * * *", PARIS, "billing", FOUR_ATTEMPTS, "https://billing.acme.example/reminders"),
    Row("billing.statements", "9 3 * * *", PARIS, "billing", FOUR_ATTEMPTS, "https://billing.acme.example/statements"),
    Row("billing.close-month", "0 4 1 * *", labels="billing tier-1"),
    Row("certs.renew-check", "0 0,12 * * * @win(after,2h)", labels="infra"),
    Row("db.backup", "0 0 * * * @win(after,3h)", labels="infra tier-1"),
    Row("db.vacuum", "0 3 * * 0 @win(after,2h)", labels="infra"),
    Row("fx.rates", "0 17 * * 1-5 @avoid(date=2026-11-26)", NEW_YORK, "finance"),
    Row("gdpr.purge", "0 2 * * * @win(after,5h)", labels="legal", policy=replace(LATE_START, overlap=Overlap.QUEUE)),
    Row("mail.birthday", "0 8 * * * @win(after,30m)", "Asia/Tokyo", "mail"),
    Row("mail.digest", "43 6 * * *", labels="mail", policy=SERVED),
    Row("mail.newsletter", "0 10 * * 2,4 @win(around,90m)", PARIS, "mail marketing"),
    Row("payroll.transfer", "0 6 25 * *", "Europe/Berlin", "finance tier-1"),
    Row("reports.board", "0 7 * * 1", PARIS, "reports"),
    Row("reports.weekly", "20 17 * * 5", labels="reports"),
    Row("search.reindex", "0 1 * * * @win(after,3h) @seed(daily)", labels="search", policy=APPLICATION),
    Row("tax.report-es", "0 12 * * * @win(after,1h) @only(dow=MON-FRI)", "Europe/Madrid", "finance"),
    Row("legacy.ping", "0 5 * * *", labels="web"),
)
FREQUENT = (
    Row("cache.warm", "*/2 * * * *", labels="web", policy=KRON),
    Row("crm.import-legacy", "49 */2 * * *", labels="crm", policy=TIMED),
    Row(
        "crm.score-leads",
        "0 0,6,12,18 * * * @win(after,1h) @dist(exponential)",
        labels="crm",
        policy=replace(TIMED, retry_after=30 * SECOND, retry_attempts=1),
    ),
    Row("crm.sync-contacts", "*/15 * * * *", labels="crm", policy=SERVED),
    Row("ml.embeddings", "42 * * * *", labels="ml", policy=replace(LATE_START, overlap=Overlap.REPLACE)),
    Row("ml.features", "40 * * * *", labels="ml", policy=SERVED),
    Row(
        "orders.export-eu",
        "15 */2 * * * @win(around,10m)",
        PARIS,
        "orders",
        replace(LATE_START, overlap=Overlap.COALESCE),
    ),
    Row("orders.sync", "*/5 * * * *", labels="orders tier-1", policy=SERVED, target="command:orders-sync"),
    Row(
        "search.suggestions",
        "*/5 * * * *",
        labels="search",
        policy=replace(LATE_START, overlap=Overlap.ALLOW, overlap_limit=3),
    ),
    Row("sla.probe", "1-59/2 * * * *", labels="web tier-1", policy=SERVED),
    Row("stock.levels", "*/30 * * * *", NEW_YORK, "orders", SERVICE),
    Row("web.sitemap", "10 * * * *", labels="web", policy=replace(LATE_START, deadline=MINUTE)),
)


def job_of(row: Row) -> Job:
    """Return the definition of a schedule."""
    schedule = parse(row.text, dialect="kron", timezone=row.zone, policy=row.policy)
    words = row.labels.split()
    labels = (
        {"team": words[0], **({"tier": words[1][-1]} if words[1:] and words[1].startswith("tier") else {})}
        if words
        else {}
    )
    return Job(
        row.name, schedule, target=row.target, source=source_of(row.text, "kron", schedule), labels=label_tuple(labels)
    )
