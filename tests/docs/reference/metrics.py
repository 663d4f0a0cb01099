"""The page on metrics, from the tables of `kron.engine.metrics` and of the store's health."""

from kron.apps.operator import kronjob_metrics, operator_metrics
from kron.apps.service.observe.health import HELP_TEXTS
from kron.engine.metrics import BUCKETS, DRIFTS, GAUGES, KRON_COUNTERS, UNPREFIXED_METRICS
from tests.docs.reference.markdown import NOTE, code, table, texts

HEAD = f"""\
# Metrics

{NOTE}

`kron serve` serves metrics at `GET /metrics` with the scope `metrics:read`. `kron worker --listen HOST:PORT` serves
them without a token. The format is the Prometheus text format. No label names a schedule, so the number of series is
bounded.

## Process

Each process counts these from its start. The names without the prefix `kron_` come from the cron-service specification.
Each of them is also available with the prefix, such as `kron_runs_emitted`.

<!-- test: metrics -->
"""
STORE = """
## Store

A process asks the store for these at each scrape. Only stores that several processes share have them (PostgreSQL).

"""
OPERATOR = """
## Kubernetes operator

`kron operator run --listen HOST:PORT` serves these, and the metrics of its worker.

"""
PER_KRONJOB = """
With `--metrics-per-job`, it also serves metrics of each KronJob. They are off by default, because each KronJob has some
series.

"""
FOOT = """
## Histogram buckets

The upper bounds of the histograms are, in seconds: {}.
"""


def page() -> str:
    """Return the page."""
    kinds = {name: kind for name, (kind, _) in UNPREFIXED_METRICS.items()} | dict.fromkeys(DRIFTS, "histogram")
    kinds |= dict.fromkeys(GAUGES, "gauge") | dict.fromkeys(KRON_COUNTERS, "counter")
    bounds = ", ".join(f"{bound:g}" for bound in BUCKETS)
    store = STORE + _table(dict.fromkeys(HELP_TEXTS, "gauge"))
    operator = OPERATOR + _operator_table() + PER_KRONJOB + _kronjob_table()
    return HEAD + _table(kinds) + store + operator + FOOT.format(bounds)


def _operator_table() -> str:
    rows = [[code(name), kind, "", _unit(name), text] for name, (kind, text) in operator_metrics.HELP_TEXTS.items()]
    text = "Requests by verb and status; 0: no answer."
    rows.append([code(operator_metrics.REQUESTS), "counter", "`verb`, `code`", "", text])
    return table(["Metric", "Type", "Labels", "Unit", "Meaning"], rows)


def _kronjob_table() -> str:
    rows = []
    for name, (kind, text, labels) in kronjob_metrics.HELP_TEXTS.items():
        named = ", ".join(map(code, ("namespace", "name", *labels)))
        rows.append([code(name), kind, named, _unit(name), text])
    return table(["Metric", "Type", "Labels", "Unit", "Meaning"], rows)


def _table(kinds: dict[str, str]) -> str:
    found = texts()
    rows = [
        [code(name), kind, found["labels"].get(name, ""), _unit(name), found["metrics"][name]]
        for name, kind in kinds.items()
    ]
    return table(["Metric", "Type", "Labels", "Unit", "Meaning"], rows)


def _unit(name: str) -> str:
    return "seconds" if name.endswith("_seconds") else ""
