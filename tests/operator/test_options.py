"""Options of the operator: what they mean, and what is refused before anything starts."""

import pytest

from kron.apps.cli.parser import parser
from kron.apps.operator.definition import OperatorDefaults
from kron.apps.operator.options import OperatorOptions, read_options
from kron.errors import InvalidSetting, UsageError
from kron.timing.schedule.policy import MINUTE


def options(*words):
    return read_options(parser().parse_args(["operator", "run", *words]))


def test_defaults_need_no_option():
    assert options() == OperatorOptions("sqlite:/var/lib/kron/operator.db")


def test_every_option_is_read():
    found = options(
        *("--store", "sqlite:a.db", "--namespaces", "shop, billing", "--identity-prefix", "east/"),
        *("--default-deadline", "5m", "--qps", "20", "--burst", "40", "--listen", ":8080"),
        *("--events", "all", "--retention-days", "0", "--log", "json", "--metrics-per-job"),
    )
    assert found == OperatorOptions(
        *("sqlite:a.db", ("shop", "billing"), OperatorDefaults("east/", 5 * MINUTE), 20.0, 40),
        *(("0.0.0.0", 8080), "all", 0, "json", True),
    )


@pytest.mark.parametrize(
    "words",
    [
        ("--namespaces", "Shop"),
        ("--identity-prefix", "east"),
        ("--identity-prefix", "a/b/"),
        ("--default-deadline", "soon"),
        ("--default-deadline=-5m",),
        ("--qps", "0"),
        ("--burst", "0"),
        ("--listen", "8080"),
        ("--listen", "host:99999"),
    ],
)
def test_wrong_values_are_refused(words):
    with pytest.raises(UsageError):
        options(*words)


def test_wrong_store_is_refused():
    with pytest.raises(InvalidSetting):
        options("--store", "mysql://x")
