"""The page on settings, from the fields of `Config` and the checks of their values."""

from dataclasses import fields

from kron.apps.service.config import Config
from kron.apps.service.config_check import CHOICES, RANGES
from kron.apps.service.config_reader import BARE_NAMES
from tests.docs.reference.markdown import NOTE, code, table, texts

HEAD = f"""\
# Settings

{NOTE}

`kron serve` and `kron worker` read the same settings, from three sources. A later source overrides an earlier one:

1. a TOML file: `--config kron.toml`, with the settings in a table `[service]` or at the top level
2. the environment, with the prefix `KRON_`: `KRON_STORE`. Settings marked with † also work without the prefix:
   `TICK_MS`
3. flags: `--set STORE=sqlite:kron.db`

Names are case-insensitive in a file. Lists are separated by commas in the environment and in flags. Names that end in
`_MS` are in milliseconds. `kron serve --check` prints the effective settings and the source of each, without secrets.

- An unknown name in a file or a flag is an error. An unknown `KRON_*` variable is a warning.
- A stored schedule contains only what its author gave. Everything else follows the settings of the process that reads
  it. A changed setting applies to existing schedules. Give every process on one store the same settings.

"""
TYPES = {"int": "integer", "str": "text", "bool": "boolean", "bool | None": "boolean", "tuple[str, ...]": "list"}
GROUPS = {
    "Scheduling": "tick_ms",
    "Processes": "store",
    "Dashboard": "ui",
    "Authentication": "auth",
    "Quotas": "max_schedules_per_tenant",
    "Targets": "webhook_secret",
}


def page() -> str:
    """Return the page."""
    meanings = texts()["settings"]
    starts, parts, rows = {first: title for title, first in GROUPS.items()}, [HEAD], []
    for each in fields(Config):
        if each.name in starts:
            parts += [_table(rows), f"\n## {starts[each.name]}\n\n"] if rows else [f"## {starts[each.name]}\n\n"]
            rows = []
        name, default = each.name.upper(), _written(each.default)
        bare = "\u00a0†" if name in BARE_NAMES else ""
        anchor = f'<a id="{each.name}"></a>{code(name)}{bare}'
        rows.append([anchor, code(default), _limits(each.name) or TYPES[str(each.type)], meanings[each.name]])
    parts.append(_table(rows))
    return "".join(parts)


def _table(rows: list[list[str]]) -> str:
    return table(["Setting", "Default:", "Type or allowed values", "Meaning"], rows)


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _limits(name: str) -> str:
    if name in RANGES:
        low, high = RANGES[name]
        return f"{low:,}–{high:,}"
    return ", ".join(map(code, CHOICES.get(name, ())))
