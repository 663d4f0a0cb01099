"""The page on error codes: causes and fixes of errors.toml, messages of the source, and the golden diagnostics."""

from kron.apps.declarative import errors as declarative
from kron.apps.service.problem import status_of
from kron.errors import FAMILIES, KronError, LanguageError
from tests.docs.reference.codes import Code, codes
from tests.docs.reference.markdown import NOTE, table, texts
from tests.language import golden

HEAD = f"""\
# Error codes

{NOTE}

Every error has a code that never changes, a message, and a hint. Errors in a text also have the place. The wording of
messages and hints can change.

- **Command line**: `error[CODE]: message` on stderr. The exit code is 1, or 2 for `USAGE`.
- **Python**: a subclass of `KronError` with `code`, `message`, `hint` and `details`. See [Classes](#classes).
- **HTTP**: a problem (RFC 9457) with `code`, `detail` and `hint`. The status is 422 unless the entry names another.

In messages, `…` stands for a value.

"""
CLASSES = """\
## Classes

Programs catch classes and log codes. `except` with a base class also catches its subclasses. The
[client](python-client.md) raises the class that the service raised. For examples, see
[Handle errors in Python](../how-to/handle-errors.md).

"""
DECLARATIVE = """
## Declarative scheduler errors

`DeclarativeScheduler` raises subclasses of `SchedulerError`. Their code is the class name.

"""
UNANSWERED = (  # the service does not answer requests with the errors of these modules
    "apps/cli/",
    "apps/daemon/",
    "apps/embedded/",
    "apps/host/",
    "apps/krontab/",
    "apps/operator/",
    "client/transport.py",
    "kube/session.py",
    "stores/postgres/migrate.py",
    "stores/sqlite/connection.py",
)
GROUPS = {
    "Sentences": "language/sentences/",
    "Workflow files": "language/workflows/",
    "Schedule texts and files": ("language/", "apps/operator/"),
    "Applications": "apps/embedded/",
    "Declarative scheduler": "apps/declarative/",
    "Service": "apps/service/",
    "Command line": "apps/cli/",
    "Host daemon": ("apps/daemon/", "apps/host/"),
    "Stores": "stores/",
}
ORDER = (
    "Schedule texts and files",
    "Sentences",
    "Warnings and notes",
    "Workflow files",
    "Command line",
    "Applications",
)


def page() -> str:
    """Return the page."""
    found, reasons, examples = codes(), texts("errors"), _examples()
    groups: dict[str, list[str]] = {}
    for name, each in found.items():
        groups.setdefault(_group(each), []).append(_entry(name, each, reasons[name], examples.get(name, "")))
    order = sorted(
        groups, key=lambda title: (title not in ORDER, [*ORDER, title].index(title), title == "Other", title)
    )
    parts = [f"## {title}\n\n" + "\n".join(groups[title]) for title in order]
    return HEAD + CLASSES + _families() + "\n" + "\n".join(parts) + DECLARATIVE + "\n".join(_classes())


def _group(each: Code) -> str:
    if each.finding and len(each.modules) == 1:
        return "Warnings and notes"
    folders = (title for title, folder in GROUPS.items() if folder and each.modules[0].startswith(folder))
    return next(folders, "Other")


def _entry(name: str, each: Code, reason: list[str], example: str) -> str:
    cause, fix = reason
    lines = [f"### {name}\n", f"{cause}\n", f"**Fix:** {fix}\n"]
    if name in FAMILIES:
        lines.append(f"**Class:** `{FAMILIES[name].__name__}`\n")
    if (status := _status(name, each)) != 422:
        lines.append(f"**HTTP status:** {status}\n")
    if example:
        lines.append(f"```text\n{example}\n```\n")
    elif messages := [text.replace("\n", " ") for text in each.messages if text.strip("… :")]:
        lines.append("**Messages:** " + " · ".join(f"`{text.replace('`', chr(39))}`" for text in messages[:4]) + "\n")
    return "\n".join(lines)


def _status(name: str, each: Code) -> int:
    answered = any(not module.startswith(UNANSWERED) for module in each.modules)
    return status_of(FAMILIES[name](name, "")) if answered and name in FAMILIES else 422


def _families() -> str:
    """The table of the classes: their docstrings, and what to do."""
    actions = texts()["error_classes"]
    families = list(dict.fromkeys(FAMILIES.values()))
    families.insert(families.index(LanguageError.__base__) + 1, LanguageError)
    rows = [_family(family, actions[family.__name__]) for family in families if family is not KronError]
    return table(("Class", "Base class", "Raised if", "What to do"), rows)


def _family(family: type[KronError], action: str) -> tuple[str, ...]:
    name, base = family.__name__, family.__base__.__name__
    reason = (family.__doc__ or "").partition("\n")[0].partition("; base class")[0]
    return f"[`{name}`](python-api.md#{name.lower()})", f"`{base}`", reason.rstrip(".") + ".", action


def _examples() -> dict[str, str]:
    """The shortest golden diagnostic of each code."""
    found: dict[str, str] = {}
    for parser in golden.PARSERS:
        for case in golden.read(parser):
            code = case.expected.partition("[")[2].partition("]")[0]
            if case.expected.count("error[") == 1 and len(case.expected) < len(found.get(code, "x" * 500)):
                found[code] = case.expected
    for path in sorted((golden.FOLDER.parent / "sentences").glob("*.txt")):
        text = path.read_text(encoding="utf-8").strip()
        found.setdefault(text.partition("[")[2].partition("]")[0], text)
    return found


def _classes() -> list[str]:
    kinds = [each for each in vars(declarative).values() if isinstance(each, type)]
    errors = [each for each in kinds if issubclass(each, declarative.SchedulerError)]
    words = texts()["declarative_errors"]
    return [f"### {each.__name__}\n\n{words[each.__name__]}\n" for each in errors]
