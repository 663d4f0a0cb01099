"""The page on the HTTP API, from docs/openapi.json."""

import json
from typing import Any

from kron.apps.service.auth.caller import SCOPES
from tests.docs.page import ROOT
from tests.docs.reference.markdown import NOTE, code, sentence, table

HEAD = f"""\
# HTTP API

{NOTE}

`kron serve` serves these routes. [`openapi.json`](../openapi.json) describes them as OpenAPI 3.1; a running service
serves the same document at `/openapi.json`.

- **Authentication.** Send `Authorization: Bearer TOKEN`. The token needs the scope of the route. `/healthz`,
  `/readyz` and `/openapi.json` need none.
- **Bodies** are JSON with `Content-Type: application/json`. `POST /v1/schedules:bulk` takes `application/x-ndjson`.
- **Errors** are problems (RFC 9457, `application/problem+json`) with a stable `code`: see [Error codes](errors.md).
- **Concurrency.** `ETag` is the revision of a schedule. `If-Match` makes a change conditional on it.
- **Idempotency.** Repeat a `POST` with the same `Idempotency-Key` to get the same result instead of a second one.
- **Pages.** Lists have `limit` and `page_token` parameters, and a `next_page_token` in the response.

## Scopes

"""


def page() -> str:
    """Return the page."""
    said = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    scopes = table(["Scope", "Allows"], [[code(name), sentence(words)] for name, words in SCOPES.items()])
    calls = [(path, method, call) for path, methods in said["paths"].items() for method, call in methods.items()]
    index = [[code(f"{method.upper()} {path}"), code(_scope(call)), _first(call)] for path, method, call in calls]
    routes = "\n## Routes\n\n<!-- test: routes -->\n" + table(["Route", "Scope", "Purpose"], index)
    parts = "\n".join(_route(path, method, call) for path, method, call in calls)
    shapes = "\n".join(_schema(name, shape) for name, shape in said["components"]["schemas"].items())
    return f"{HEAD}{scopes}{routes}\n{parts}\n## Schemas\n\n{shapes}"


def _scope(call: dict[str, Any]) -> str:
    return str(call["security"][0]["bearer"][0]) if call.get("security") else ""


def _first(call: dict[str, Any]) -> str:
    return sentence(" ".join(str(call.get("description") or call["summary"]).split()).split(". ")[0])


def _route(path: str, method: str, call: dict[str, Any]) -> str:
    parts = [f"### {method.upper()} {path}\n", sentence(" ".join(call.get("description", "").split())) + "\n"]
    if scope := _scope(call):
        parts.append(f"Scope: {code(scope)}\n")
    if call.get("parameters"):
        rows = [
            [
                code(each["name"]),
                each["in"],
                _type(each["schema"]),
                "yes" if each.get("required") else "",
                _limits(each),
            ]
            for each in call["parameters"]
        ]
        parts.append(table(["Parameter", "In", "Type", "Required", "Limits and meaning"], rows))
    for media, body in call.get("requestBody", {}).get("content", {}).items():
        parts.append(f"Request body ({code(media)}): {_type(body.get('schema', {}))}\n")
    rows = [[status, _answer(each), sentence(each["description"])] for status, each in call["responses"].items()]
    parts.append(table(["Status", "Body", "Meaning"], rows))
    return "\n".join(parts)


def _answer(response: dict[str, Any]) -> str:
    return ", ".join(_type(body.get("schema", {})) for body in response.get("content", {}).values())


def _schema(name: str, shape: dict[str, Any]) -> str:
    required = set(shape.get("required", ()))
    rows = [
        [code(field), _type(each), "yes" if field in required else "", _meaning(each)]
        for field, each in shape.get("properties", {}).items()
    ]
    words = sentence(" ".join(shape.get("description", "").split()))
    return f"### {name}\n\n{words}\n\n" + table(["Field", "Type", "Required", "Default, limits and meaning"], rows)


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema or "oneOf" in schema:
        return " or ".join(dict.fromkeys(_type(each) for each in schema.get("anyOf") or schema["oneOf"]))
    if "const" in schema or "enum" in schema:
        return " or ".join(code(each) for each in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _limits(parameter: dict[str, Any]) -> str:
    return _meaning({**parameter["schema"], "description": parameter.get("description", "")})


def _meaning(schema: dict[str, Any]) -> str:
    names = {"minimum": "min", "maximum": "max", "minLength": "min length", "maxLength": "max length"}
    names |= {"minItems": "min items", "maxItems": "max items"}
    shapes = [schema, *schema.get("anyOf", [])]
    facts = [f"{words} {each[key]:,}" for each in shapes for key, words in names.items() if key in each]
    if schema.get("default") not in (None, ""):
        facts.insert(0, f"default {code(json.dumps(schema['default']))}")
    return " ".join(filter(None, [sentence("; ".join(facts)), sentence(schema.get("description", ""))]))
