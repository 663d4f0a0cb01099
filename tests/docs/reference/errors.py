"""The page on error codes: causes and fixes of errors.toml, messages of the source, and the golden diagnostics."""

from kron.apps.declarative import errors as declarative
from kron.apps.service.problem import _STATUS
from tests.docs.reference.codes import Code, codes
from tests.docs.reference.markdown import NOTE, texts
from tests.language import golden

HEAD = f"""\
# Error codes

{NOTE}

Every error has a code that never changes, a message, and a hint. Errors in a text also have the place. The wording of
messages and hints can change.

- **Command line**: `error[CODE]: message` on stderr. The exit code is 1, or 2 for `USAGE`.
- **Python**: `KronError` with `code`, `message`, `hint` and `details`. `LanguageError` also has `span`.
- **HTTP**: a problem (RFC 9457) with `code`, `detail` and `hint`. The status is 422 unless the entry names another.

In messages, `…` stands for a value.

"""
DECLARATIVE = """
## Declarative scheduler errors

`DeclarativeScheduler` raises subclasses of `SchedulerError`. Their code is the class name.

"""
GROUPS = {
    "Sentences": "language/sentences/",
    "Workflow files": "language/workflows/",
    "Schedule texts and files": "language/",
    "Applications": "apps/embedded/",
    "Declarative scheduler": "apps/declarative/",
    "Service": "apps/service/",
    "Command line": "apps/cli/",
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
    return HEAD + "\n".join(parts) + DECLARATIVE + "\n".join(_classes())


def _group(each: Code) -> str:
    if each.finding and len(each.modules) == 1:
        return "Warnings and notes"
    folders = (title for title, folder in GROUPS.items() if folder and each.modules[0].startswith(folder))
    return next(folders, "Other")


def _entry(name: str, each: Code, reason: list[str], example: str) -> str:
    cause, fix = reason
    lines = [f"### {name}\n", f"{cause}\n", f"**Fix:** {fix}\n"]
    if name in _STATUS:
        lines.append(f"**HTTP status:** {_STATUS[name]}\n")
    if example:
        lines.append(f"```text\n{example}\n```\n")
    elif messages := [text.replace("\n", " ") for text in each.messages if text.strip("… :")]:
        lines.append("**Messages:** " + " · ".join(f"`{text.replace('`', chr(39))}`" for text in messages[:4]) + "\n")
    return "\n".join(lines)


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
