"""The page on events, from the calls in the source that state one."""

import ast
import logging
from collections.abc import Iterator
from itertools import chain

from kron.engine.events import Event
from kron.engine.log_events import LEVELS, level_of
from tests.docs.reference.codes import SOURCE
from tests.docs.reference.markdown import NOTE, code, table, texts

HEAD = f"""\
# Events

{NOTE}

Workers and the service state what happens as events. The log writes each event as a line. `GET /v1/events` streams
the events about schedules. In Python, `kron.engine.events.Sink` is the type of a function that receives them.

## Log lines

With `LOG_FORMAT=json`, a line is one JSON object:

"""
FIELDS = """
These fields are in every line:

| Field | Type | Meaning |
|---|---|---|
| `event` | text | Name of the event, from the tables below |
| `level` | text | `debug`, `info`, `warning` or `error` |
| `at` | integer | Time of the event, in milliseconds since 1970-01-01T00:00:00Z |
| `message` | text | The event in one sentence. The wording can change |

The **run fields** are in every event about a run:

<!-- test: run fields -->
| Field | Type | Meaning |
|---|---|---|
| `identity` | text | Identity of the schedule |
| `nominal` | integer | Nominal time of the period, in seconds since 1970-01-01T00:00:00Z |
| `due_at` | integer | Due time, in milliseconds |
| `key` | text | Idempotency key of the run |
| `state` | text | [State](run-states.md) of the run |
| `outcome` | text | [Outcome](run-states.md#outcomes), if it is known |
| `reason` | text | [Reason](run-states.md#reasons) of the outcome, or null |
| `attempt` | integer | Number of the attempt; 0 before the first |
| `trigger` | text | Name of the request, for a manual run, a backfill or a redrive |
| `decision` | object | [Decision record](decision-record.md) of the period. `kron verify` reads such lines |

## Worker and service events

The level of `launch_completed`, `run_finished` and `gap_recorded` depends on the result: `warning` if the run
failed or was missed, otherwise `info`. `run_recorded` is `warning` if an attempt exceeded its time limit.

"""
STREAM = """
## Event stream

`GET /v1/events` sends the events that have an `identity` as server-sent events. `event:` is the name from the table
above. `data:` is a JSON object with `at`, `schedule_id` and, where they apply, `key`, `period`, `state`, `outcome`,
`reason`, `attempt`, `trigger` and `result`. One event exists in the stream only:

| Event | Meaning |
|---|---|
| `events_lost` | Events after `Last-Event-ID` are no longer available. Read the runs instead |

## Declarative scheduler

`DeclarativeScheduler` states these events. Their names come from its specification.

"""
SAMPLE = Event(
    "launch_completed",
    1_772_332_340_512,
    {
        "identity": "billing/invoices",
        "nominal": 1_772_323_200,
        "key": "4bf8…",
        "state": "success",
        "due_at": 1_772_332_340_000,
        "outcome": "executed",
        "reason": None,
        "attempt": 1,
        "result": "ok",
        "sent": 1_772_332_340_020,
    },
)


def page() -> str:
    """Return the page."""
    from kron.engine.log_writer import _json

    line = _json(level_of(SAMPLE), SAMPLE)
    found = texts()
    sample = f"```json\n{line}\n```\n"
    rows = [[_anchor(name), _level(name), *found["events"][name]] for name in stated()]
    declared = [[_anchor(name), *found["declarative"][name]] for name in said()]
    tables = table(["Event", "Level", "Meaning", "Fields"], rows), table(["Event", "Meaning", "Fields"], declared)
    return HEAD + sample + FIELDS + tables[0] + STREAM + tables[1]


def stated() -> list[str]:
    """Return the names of all events of workers and of the service."""
    return sorted({*_names("Event", "about"), *LEVELS})


def said() -> list[str]:
    """Return the names of the events of the declarative scheduler."""
    return sorted({*_names("_emit_scheduler_event", "emit_scheduler_event")})


def _names(*functions: str) -> Iterator[str]:
    """The texts that calls of these functions, or of methods so named, have as their first argument."""
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            name = getattr(getattr(node, "func", None), "id", "") or getattr(getattr(node, "func", None), "attr", "")
            if isinstance(node, ast.Call) and name in functions and node.args:
                yield from _texts(node.args[0], tree)


def _texts(node: ast.AST, tree: ast.Module) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from chain(_texts(node.body, tree), _texts(node.orelse, tree))
    elif isinstance(node, ast.Name):
        for each in ast.walk(tree):
            if isinstance(each, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in each.targets):
                yield from () if isinstance(each.value, ast.Name) else _texts(each.value, tree)
            elif isinstance(each, ast.arguments):
                with_default = zip(reversed(each.args), reversed(each.defaults), strict=False)
                yield from (text for arg, value in with_default if arg.arg == node.id for text in _texts(value, tree))


def _anchor(name: str) -> str:
    return f'<a id="{name}"></a>{code(name)}'


def _level(name: str) -> str:
    varies = name in ("launch_completed", "run_finished", "gap_recorded")
    return "by result" if varies else logging.getLevelName(LEVELS.get(name, logging.INFO)).lower()
