"""The tests of the operator on a real cluster with a real node: `make kube-e2e`.

    python -m tests.kube.e2e [--if-built]

Prints the results of pytest, then one line with a verdict and figures.
"""

import argparse
import os
import shutil
import sys
import time
from collections import Counter

import pytest

from kron.apps.operator.installation import NAME
from kron.apps.operator.rbac import operator_rules
from tests.kube.cluster.audit_log import ADMISSION, rights_of
from tests.kube.cluster.containers import install_packages, missing_packages
from tests.kube.cluster.release import CONTROL_PLANE, NODE, chosen_release
from tests.kube.conftest import CALLS
from tests.kube.nodes.kronjobs import now, specs

TESTS = ("tests/kube/nodes", "tests/kube/test_operator_e2e.py", "tests/kube/test_cluster_rights.py")
CHECKED = ("tests/kube/test_cluster_chart.py",)
CREATED = 201


class Results:
    """Counts the tests, and keeps the recorded calls of the operators."""

    def __init__(self):
        self.tests, self.calls = Counter(), []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.tests[report.outcome] += 1

    def pytest_sessionfinish(self, session):
        self.calls = [call for call in session.config.stash.get(CALLS, []) if call.user.endswith(f":{NAME}")]


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.kube.e2e")
    parser.add_argument("--if-built", action="store_true", help="succeed without the programs, and say what is missing")
    options = parser.parse_args()
    missing = missing_programs() or missing_after_installation()
    if missing:
        print(f"{'LEFT OUT' if options.if_built else 'FAIL'}: tests on a real cluster need {missing}")
        return 0 if options.if_built else 1
    began, results = time.monotonic(), Results()
    words = ["-m", "campaign or not campaign", "-p", "no:xdist", "-o", "addopts=", "--verbose", "-rs"]
    words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # plugins were imported before pytest
    status = pytest.main([*words, *TESTS, *CHECKED], plugins=[results])
    is_good = status == pytest.ExitCode.OK and not set(results.tests) - {"passed"}
    print(f"{'PASS' if is_good else 'FAIL'}: {figures(results, time.monotonic() - began)}")
    return 0 if is_good else 1


def missing_programs():
    """The programs of Kubernetes that were not built; empty if none."""
    release = chosen_release()
    programs = release.missing((*CONTROL_PLANE, *NODE))
    return f"{', '.join(programs)} in {release.programs}: run `make kube NODE=1`" if programs else ""


def missing_after_installation():
    """The other parts that this machine lacks, after apt was asked for them; empty if none."""
    if os.geteuid():
        return "root, for the node"
    install_packages()
    commands = [name for name in ("kubectl", "unshare", "nsenter", "setpriv") if not shutil.which(name)]
    return ", ".join([*missing_packages(), *commands])


def figures(results, seconds):
    """The figures of the last line."""
    creations = [call for call in results.calls if call.right == ("batch/jobs", "create") and not call.is_dry_run]
    refused = sum(call.is_forbidden for call in results.calls)
    rights = rights_of(operator_rules()) - ADMISSION
    used = rights & {call.right for call in results.calls if not call.is_forbidden}
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(results.tests.items()))
    return (
        f"Kubernetes {chosen_release().version}: tests: {counts} in {seconds:.0f} s; "
        f"{len(specs(now()))} KronJobs on a node; "
        f"operators: {len(results.calls)} requests, {sum(call.status == CREATED for call in creations)} Jobs created, "
        f"{refused} requests refused for lack of rights, {len(used)} of {len(rights)} rights used"
    )


if __name__ == "__main__":
    sys.exit(main())
