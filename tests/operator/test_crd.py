"""The custom resource definition: the file is what the command prints, and YAML readers read what was meant."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kron.apps.operator.crd import resource_definition
from kron.apps.operator.definition import _FIELDS
from kron.apps.operator.yaml_text import to_yaml

FILE = Path(__file__).parents[2] / "deploy" / "operator" / "crd.yaml"
KRON = Path(sys.executable).parent / "kron"


def test_file_is_what_the_command_prints():
    printed = subprocess.run([KRON, "operator", "crd"], capture_output=True, text=True, timeout=60, check=True)
    assert FILE.read_text(encoding="utf-8") == printed.stdout, "run: kron operator crd > deploy/operator/crd.yaml"


def test_yaml_reader_reads_the_definition():
    assert yaml.safe_load(FILE.read_text(encoding="utf-8")) == resource_definition()


LINES = st.text(st.sampled_from("a \n#:-\t|>\x85\u2028"), max_size=12)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9) | LINES
WORDS = st.sampled_from(
    ["true", "No", "null", "1", "1e3", "0x1f", "2026-03-01", "- a", "a: b", "#", "", ".5", "~", "=", "<<"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | WORDS, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=3))
def test_yaml_reader_reads_any_manifest(value):
    assert yaml.safe_load(to_yaml(value)) == value


def test_lines_are_a_block_that_people_can_read():
    script = "set -e\n  report > out\n\ndone\n"
    text = to_yaml({"args": ["sh", script], "last": script.rstrip()})
    assert "  - |\n    set -e\n      report > out\n\n    done\n" in text
    assert "last: |-\n  set -e\n" in text
    assert yaml.safe_load(text) == {"args": ["sh", script], "last": script.rstrip()}


def nodes(schema, path=""):
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from nodes(schema[name], f"{path}[]")


ROOT = resource_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def test_schema_is_structural():
    """Every node has one type, which an API server demands, and patterns are valid."""
    for path, schema in nodes(ROOT):
        assert schema["type"] in ("object", "array", "string", "boolean", "integer"), path
        re.compile(schema.get("pattern", ""))
        assert set(schema.get("required", ())) <= set(schema.get("properties", {})) | {"spec"}, path


def test_operator_knows_the_fields_of_the_schema():
    spec = ROOT["properties"]["spec"]["properties"]
    assert set(_FIELDS[""]) == set(spec)
    for name, fields in _FIELDS.items():
        if name:
            assert set(fields) == set(spec[name]["properties"]), name


def test_deadline_has_no_default_so_that_the_operator_can_set_it():
    assert "default" not in ROOT["properties"]["spec"]["properties"]["policy"]["properties"]["deadline"]


def test_columns_lead_to_fields_of_the_schema():
    """`Next` is a text: kubectl prints a date in the future as invalid."""
    paths = {path for path, _ in nodes(ROOT)}
    columns = {
        column["name"]: column for column in resource_definition()["spec"]["versions"][0]["additionalPrinterColumns"]
    }
    for column in columns.values():
        path = column["jsonPath"].split("[?")[0]
        assert path in paths or path == ".metadata.creationTimestamp"
    assert columns["Next"]["type"] == "string"


@pytest.mark.parametrize("words", [["operator"], ["operator", "cdr"]])
def test_wrong_verb_is_a_usage_error(words):
    assert subprocess.run([KRON, *words], capture_output=True, timeout=60, check=False).returncode == 2
