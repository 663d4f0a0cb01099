"""The classes of errors: each code belongs to one class, and a class arrives as itself wherever it is caught."""

import ast
import pickle
from copy import copy
from functools import cache

import pytest

import kron
from kron import errors
from kron.apps.service.problem import problem, status_of
from kron.errors import FAMILIES, InvalidInput, InvalidSchedule, KronError, LanguageError, Place, error_of
from tests.docs.reference.codes import CLASSES, FAULTS, FIXED, SOURCE, calls, codes, raised

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, KronError)]
COMPARED = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)


@cache
def trees():
    paths = sorted(SOURCE.rglob("*.py"))
    return [(path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


@cache
def sites():
    """Every place that creates an error: where it is, what it calls, and the code."""
    return [
        (f"{module}:{call.lineno}", call.func.id, code)
        for module, tree in trees()
        for scope, call in calls(tree)
        for code, _, _ in raised(call, scope)
    ]


def test_every_code_is_raised_with_its_own_class():
    created = [
        site for site in sites() if site[1] not in ("Finding", "code_details")
    ]  # without warnings and their facts
    helpers = dict.fromkeys(FAULTS, "InvalidSchedule") | dict.fromkeys(FIXED, "UsageError")
    wrong = [
        f"{place}: {name}({code!r})"
        for place, name, code in created
        if code not in FAMILIES or FAMILIES[code].__name__ != helpers.get(name, name)
    ]
    assert len(created) > 200
    assert wrong == []


def test_table_has_no_code_that_the_source_lacks():
    warnings = {name for _, kind, name in sites() if kind == "Finding"}
    assert set(FAMILIES) - set(codes()) == set()
    assert set(codes()) - set(FAMILIES) <= warnings


def test_no_code_is_in_two_classes():
    listed = [code for names in errors._CODES.values() for code in names.split()]
    assert sorted(listed) == sorted(set(listed))


def test_every_class_has_codes_or_a_place():
    assert {*FAMILIES.values(), LanguageError} == set(KINDS)


def test_every_class_is_public_and_says_when_it_is_raised():
    for kind in KINDS:
        assert getattr(kron, kind.__name__) is kind
        assert kind.__doc__


def test_no_error_without_a_class_is_raised():
    plain = [
        f"{module}:{call.lineno}"
        for module, tree in trees()
        for _, call in calls(tree)
        if isinstance(call.func, ast.Name) and call.func.id == KronError.__name__
    ]
    assert plain == []


def test_every_class_is_given_a_literal_code():
    """So that the scan above sees every error. Only the parsers' helpers and the client pass a code on."""
    seen = {place for place, _, _ in sites()}
    unseen = [
        f"{module}:{call.lineno}"
        for module, tree in trees()
        for _, call in calls(tree)
        if isinstance(call.func, ast.Name) and call.func.id in CLASSES and f"{module}:{call.lineno}" not in seen
    ]
    assert unseen == []


def test_source_does_not_compare_codes():
    compared = [
        f"{module}:{node.lineno}"
        for module, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and isinstance(node.ops[0], COMPARED)
        and any(isinstance(side, ast.Attribute) and side.attr == "code" for side in (node.left, *node.comparators))
        and "status.code" not in ast.unparse(node)  # an HTTP status of Kubernetes
    ]
    assert compared == []


@pytest.mark.parametrize("make", [lambda error: pickle.loads(pickle.dumps(error)), copy], ids=["pickle", "copy"])
@pytest.mark.parametrize("kind", KINDS)
def test_error_survives_pickling(kind, make):
    place = [Place("0 24 * * *", 2, 4)] if kind is LanguageError else []
    error = kind("CODE", "it is wrong", *place, hint="do this", details={"a": 1})
    again = make(error)
    assert type(again) is kind
    assert (str(again), vars(again)) == (str(error), vars(error))


@pytest.mark.parametrize("code", sorted(FAMILIES))
def test_client_rebuilds_the_class_from_the_code(code):
    error = error_of(code, "it is wrong", hint="do this", details={"a": 1})
    assert type(error) is FAMILIES[code]
    assert (error.code, error.message, error.hint, error.details) == (code, "it is wrong", "do this", {"a": 1})


def test_unknown_code_is_a_plain_error():
    assert type(error_of("FROM_A_NEWER_SERVICE", "it is wrong")) is KronError


def test_error_in_a_text_is_caught_as_invalid_input():
    with pytest.raises(InvalidInput) as caught:
        kron.parse("0 24 * * *", dialect="posix")
    assert type(caught.value) is LanguageError
    assert isinstance(caught.value, InvalidSchedule)


STATUSES = {
    "BAD_FIELD": 422,
    "OUT_OF_RANGE": 422,
    "CONFIG": 422,
    "BAD_URL": 400,
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "FOREIGN_HOST": 403,
    "FOREIGN_ORIGIN": 403,
    "NOT_FOUND": 404,
    "SLOW_BODY": 408,
    "EXISTS": 409,
    "NOT_DEAD": 409,
    "GONE": 410,
    "REVISION": 412,
    "TOO_LARGE": 413,
    "MEDIA_TYPE": 415,
    "NOT_STORABLE": 422,
    "QUOTA": 429,
    "STORE_REFUSED": 500,
    "CORRUPT_ROW": 500,
    "MISSING_PART": 501,
    "STORE_FAILED": 503,
    "STORE_TIMEOUT": 503,
    "NOT_A_STORE": 503,
    "CONTENDED": 503,
    "KEYS": 503,
    "AUDIT": 503,
}


@pytest.mark.parametrize(("code", "status"), STATUSES.items())
def test_status_of_an_error_follows_its_class_or_code(code, status):
    assert status_of(error_of(code, "it is wrong")) == status


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ("NOT_FOUND", "unknown schedule or run"),
        ("STORE_FAILED", "the store is unavailable"),
        ("STORE_TIMEOUT", "the store did not answer in time"),
        ("NOT_A_STORE", "the store is not ready"),
        ("GONE", "inside"),
        ("NOT_STORABLE", "inside"),
        ("KEYS", "inside"),
    ],
)
def test_problem_shows_no_internals_of_the_store(code, detail):
    shown = problem(error_of(code, "inside", hint="a hint"))
    assert shown["detail"] == detail
    assert ("hint" in shown) == (detail == "inside")
