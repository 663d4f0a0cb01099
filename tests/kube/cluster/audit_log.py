"""Audit log of the API server: which requests service accounts made, and whether they were allowed to."""

import json
from typing import NamedTuple

ADMISSION = {("kron.io/kronjobs/finalizers", "update")}  # rights that an admission plugin asks for, and no request
LOG, POLICY = "audit.log", "audit-policy.json"


class Call(NamedTuple):
    """A request: who made it, which right it needs, its status, and whether it was a dry run."""

    user: str
    right: tuple[str, str]  # resource with its group, such as `batch/jobs`, and the verb
    status: int
    is_forbidden: bool
    is_dry_run: bool


def audit_options(folder):
    """The options of an API server that records the requests of service accounts."""
    rules = [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}]
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": rules}
    (folder / POLICY).write_text(json.dumps(policy), encoding="utf-8")
    return {"audit-policy-file": POLICY, "audit-log-path": LOG}


def recorded_calls(folder):
    """The requests that were recorded, oldest first. A watch counts when it begins, and once."""
    path, events = folder / LOG, {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            event = json.loads(line)
        except ValueError:  # the API server was killed while it wrote
            continue
        events[event["auditID"]] = event
    return [call_of(event) for event in events.values()]


def call_of(event):
    """The request of an event of the audit log."""
    thing, annotations = event.get("objectRef") or {}, event.get("annotations") or {}
    names = (thing.get("apiGroup"), thing.get("resource"), thing.get("subresource"))
    return Call(
        event["user"]["username"],
        ("/".join(filter(None, names)), event["verb"]),
        (event.get("responseStatus") or {}).get("code", 0),
        annotations.get("authorization.k8s.io/decision") == "forbid",
        "dryRun=" in event["requestURI"],
    )


def rights_of(rules):
    """The rights that the rules of a role give."""
    return {
        (f"{group}/{resource}", verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
