"""Specs of KronJobs that are made at random, and whether an API server and the operator agree on them.

The server judges by the schema and its rules in CEL. The operator judges the same, and what only Kron can judge: the
texts of schedules, zones and clauses.
"""

import copy
import json

from kron.apps.operator.crd import resource_definition
from kron.apps.operator.definition import OperatorDefaults, job_of_kronjob
from kron.apps.operator.schema_check import problem_of
from kron.errors import KronError
from kron.kube.kind import KRONJOB, Place
from tests.kube.cluster.objects import kronjob
from tests.operator.specs import BAD, GOOD, TEMPLATE, spec_of

PLACE = Place("default", "report")
SCHEMA = resource_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
RULES = [rule["message"] for rule in SCHEMA["x-kubernetes-validations"]]
TEXTS = [
    *("", " ", "0", "5", "x", "x" * 257, "é" * 256, "😀" * 33, "\0", "a\nb", "a,b", "@", "@policy(", "0 3 * * *"),
    *("1h", "1h\n", "-1h", "+1h", "1.5h", ".5h", "1.h", "1h1h", "1e3s", "8784h", "8785h", "2562047h", "2562048h"),
    *("99999999999999999999h", "0.00000000000000000000000001h", "5µs", "5μs", "1d", "0s", "00"),
    *("2026-03-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-03-01T24:00:00Z", "2026-03-01T00:00:60Z"),
    *("2026-03-01t00:00:00z", "2026-03-01 00:00:00Z", "2026-03-01T00:00:00", "2026-03-01T00:00:00.5Z"),
    *("2026-03-01T00:00:00+24:00", "2026-03-01T00:00:00-23:59", "0001-01-01T00:00:00+23:59", "2026-03-01"),
    *("9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z"),
    *("after", "around", "After", "normal", "stable", "allow", "coalesce", "latest", "UTC", "hours=8-18", "Local"),
]
OTHERS = [0, 1, -1, 3.0, 3.5, 1000, 1001, 2**63, 1e300, True, False, [], {}, [[]], [{}], [""], [0], {"": ""}, {"a": 1}]
OTHERS += [["hours=8-18"] * 33, [*"abcd"], {"a": "b"}, {"name": "normal"}, {"duration": "1h"}, {"spec": {}}, TEMPLATE]
VALUES = [*TEXTS, *OTHERS]
NAMES = ["mode", "duration", "name", "params", "strategy", "salt", "only", "avoid", "concurrency", "deadline"]
NAMES += ["suspend", "catchup", "metadata", "labels", "annotations", "spec", "sigma", "shape", "timezone", "unknown"]
CHANGES = [*GOOD.values()] * 4 + [changes for _, changes, _ in BAD.values()]


def random_spec(random):
    """A spec of the tables, or a mixture of two, with values replaced, added or removed at some places."""
    spec = spec_of({**random.choice(CHANGES), **(random.choice(CHANGES) if random.random() < 0.4 else {})})
    spec = copy.deepcopy(spec)
    for _ in range(random.choice([0, 1, 1, 1, 2, 3])):
        _change(spec, random)
    return spec


def _change(spec, random):
    node = spec
    while isinstance(node, dict) and node and random.random() < 0.6:
        inner = node[random.choice(sorted(node))]
        if not isinstance(inner, dict | list):
            break
        node = inner
    value = copy.deepcopy(random.choice(VALUES))
    if isinstance(node, list):
        node.insert(random.randrange(len(node) + 1), value)
    elif node and random.random() < 0.6:
        name = random.choice(sorted(node))
        if random.random() < 0.2:
            del node[name]
        else:
            node[name] = value
    else:
        node[random.choice([*SCHEMA["properties"], *NAMES])] = value


def disagreement(cluster, spec):
    """What an API server and the operator do not agree on; empty if they agree."""
    answer = cluster.request("POST", f"{KRONJOB.path('default')}?dryRun=All", kronjob("report", spec))
    error = refusal(spec)
    if answer.status_code == 422:
        return "" if error else f"the server refuses what the operator accepts: {answer.json()['message']}"
    if answer.status_code != 201:
        return f"the server answers {answer.status_code}: {answer.text}"
    stored = answer.json()["spec"]
    error, problem = refusal(stored), problem_of(SCHEMA, stored)
    if problem or (error and any(message in error for message in RULES)):
        return f"the operator refuses by the schema what the server accepts: {problem or error}"
    return ""


def refusal(spec):
    """Why the operator refuses a spec; empty if it accepts it. It reads a copy, as from the network."""
    try:
        job_of_kronjob(PLACE, json.loads(json.dumps(spec)), OperatorDefaults())
    except KronError as error:
        return f"{error.code}: {error.message}"
    return ""
