"""The page on the resource KronJob, from its schema."""

from collections.abc import Iterator

from kron.apps.operator.schema import Schema, root_schema
from kron.kube import names
from tests.docs.reference.markdown import NOTE, code, table, texts

HEAD = f"""\
# KronJob

{NOTE}

A KronJob is a namespaced resource of the group `kron.io`, version `v1alpha1`, plural `kronjobs`, short name `kj`.
`kron operator crd` prints its definition. See [run KronJobs](../how-to/kron-operator.md).

## Spec

Names of nested fields are joined by periods; `[]` stands for the items of a list. A field with * is required in its
object.

"""
RULES = """
The API server also checks rules, from Kubernetes 1.25 on. The operator checks them in any case. Their messages:

"""
TIMES = """
## Status

The operator writes the status. It is a view of the store, except `lastPeriodID`: if the store is lost, a new one does
not run the periods up to it.

"""
CONDITIONS = """
## Conditions

"""
ANNOTATIONS = """
## Labels and annotations

"""
SKIPPED = ("conditions",)


def page() -> str:
    """Return the page."""
    words, schema = texts("kronjob"), root_schema()
    spec, status = (schema["properties"][name] for name in ("spec", "status"))
    rules = {rule["message"] for part in (schema, spec) for rule in part["x-kubernetes-validations"]}
    parts = [
        HEAD,
        table(("Field", "Value", "Default", "Meaning"), _spec_rows(spec, words["spec"])),
        RULES,
        "".join(f"- {code(rule)}\n" for rule in sorted(rules)),
        TIMES,
        table(("Field", "Value", "Meaning"), _status_rows(status, words["status"])),
        CONDITIONS,
        table(("Condition", "Status `True`", "Reasons"), _word_rows(words["conditions"])),
        ANNOTATIONS,
        table(("Name", "On", "Meaning"), _name_rows(words["names"])),
    ]
    return "".join(parts)


def _fields(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema, bool]]:
    """Yield each field with its path and whether it is required."""
    for name, inner in schema.get("properties", {}).items():
        inner_path = f"{path}.{name}" if path else name
        yield inner_path, inner, name in schema.get("required", ())
        yield from _fields(inner, inner_path)
        if inner.get("items", {}).get("properties"):
            yield from _fields(inner["items"], f"{inner_path}[]")


def _spec_rows(spec: Schema, words: dict[str, str]) -> Iterator[tuple[str, ...]]:
    for path, schema, required in _fields(spec):
        if path in words:  # an object whose fields have rows of their own needs none
            default = schema.get("default", "")
            yield f"{code(path)}{' *' if required else ''}", _value(schema), code(default), words[path]
        elif not schema.get("properties"):
            raise KeyError(f"kronjob.toml does not describe {path}")


def _status_rows(status: Schema, words: dict[str, str]) -> Iterator[tuple[str, ...]]:
    for path, schema, _ in _fields(status):
        if not path.startswith(SKIPPED):
            yield code(path), _value(schema), words[path]


def _value(schema: Schema) -> str:
    """Return the type of a field and its limits."""
    if "enum" in schema:
        return ", ".join(map(code, schema["enum"]))
    kind = schema["type"]
    if kind == "array":
        return f"list of at most {schema['maxItems']}" if "maxItems" in schema else "list"
    if kind == "integer" and "minimum" in schema:
        return f"{schema['minimum']} to {schema['maximum']:,}"
    limit = f", at most {schema['maxLength']:,} characters" if "maxLength" in schema else ""
    return {"string": "text", "object": "object", "boolean": "true or false", "integer": "number"}[kind] + limit


def _word_rows(words: dict[str, list[str]]) -> Iterator[tuple[str, ...]]:
    for name, (meaning, reasons) in words.items():
        yield code(name), meaning, reasons


def _name_rows(words: dict[str, list[str]]) -> Iterator[tuple[str, ...]]:
    for constant, (kind, meaning) in words.items():
        yield code(getattr(names, constant)), kind, meaning
