"""The part of a CRD's schema that every API server checks. Rules in CEL are not evaluated here."""

import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}


def problems(schema, value, path="spec"):
    """What is wrong with a value, by path; nothing if the schema accepts it."""
    kind = TYPES[schema["type"]]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return [f"{path}: not of type {schema['type']}"]
    check = {dict: _of_mapping, list: _of_list, str: _of_text, int: _of_number}.get(kind)
    return check(schema, value, path) if check else []


def _of_mapping(schema, value, path):
    found = [f"{path}.{name}: missing" for name in schema.get("required", ()) if name not in value]
    if len(value) > schema.get("maxProperties", len(value)):
        found.append(f"{path}: too many")
    for name, item in value.items():
        inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        found += problems(inner, item, f"{path}.{name}") if inner else []
    return found


def _of_list(schema, value, path):
    found = [f"{path}: too many"] if len(value) > schema.get("maxItems", len(value)) else []
    return found + [each for item in value for each in problems(schema["items"], item, f"{path}[]")]


def _of_text(schema, value, path):
    wrong = value not in schema.get("enum", [value])
    wrong |= not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
    wrong |= "pattern" in schema and not re.search(schema["pattern"].replace("$", r"\Z"), value)
    return [f"{path}: {value[:20]!r}"] if wrong else []


def _of_number(schema, value, path):
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    return [] if low <= value <= high else [f"{path}: {value}"]
