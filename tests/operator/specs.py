"""Specs of KronJobs: what is valid, and what is refused by whom. One table for the schema and for the operator."""

TEMPLATE = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}}}
MINIMAL = {"schedule": "0 3 * * *", "jobTemplate": TEMPLATE}
LONG_LINE = "0 3 * * * @tz(Europe/Paris) @win(after,2h) @seed(daily,salt=x) @policy(concurrency=allow,deadline=5m)"
GOOD = {
    "minimal": {},
    "zone": {"timezone": "Europe/Paris"},
    "line": {"schedule": LONG_LINE},
    "window": {"window": {"mode": "around", "duration": "1h30m"}},
    "window without a mode": {"window": {"duration": "90m"}},
    "longest window": {"window": {"duration": "8784h"}},
    "no window": {"window": {"duration": "0"}},
    "distribution": {"window": {"duration": "1h"}, "distribution": {"name": "skewLate", "params": {"shape": "2.5"}}},
    "normal": {"window": {"duration": "1h"}, "distribution": {"name": "normal", "params": {"sigma": "10m"}}},
    "seed": {"seed": {"strategy": "weekly", "salt": 'a "b", c'}},
    "constraints": {"constraints": {"only": ["dow=MON-FRI", "hours=8-18"], "avoid": ["date=2026-12-25"]}},
    "no constraints": {"constraints": {"only": [], "avoid": []}},
    "policy": {"policy": {"concurrency": "replace", "deadline": "10m", "suspend": True}},
    "queue": {"policy": {"concurrency": "queue", "catchup": "latest"}},
    "coalesce": {"policy": {"concurrency": "coalesce", "catchup": "none"}},
    "policy beside a line": {"schedule": "0 3 * * * @win(after,1h)", "policy": {"concurrency": "coalesce"}},
    "times": {"startTime": "2026-03-01T00:00:00Z", "endTime": "2026-03-01T00:00:00Z"},
    "times of two zones": {"startTime": "2026-03-01T01:30:00+02:00", "endTime": "2026-03-01T00:00:00Z"},
    "limits": {"successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": 1000},
    "sentence": {"schedule": "fuzzy: daily around 14:00"},
}
SCHEMA, RULE, OPERATOR = "schema", "rule", "operator"  # who refuses it first: the schema, a rule in CEL, the operator
BAD = {
    "no schedule": (SCHEMA, {"schedule": None}, "MISSING_FIELD"),
    "empty schedule": (SCHEMA, {"schedule": ""}, "MISSING_FIELD"),
    "schedule of a wrong type": (SCHEMA, {"schedule": 5}, "BAD_FIELD"),
    "no template": (SCHEMA, {"jobTemplate": None}, "MISSING_FIELD"),
    "template without a spec": (SCHEMA, {"jobTemplate": {"metadata": {}}}, "MISSING_FIELD"),
    "template of a wrong type": (SCHEMA, {"jobTemplate": "x"}, "BAD_FIELD"),
    "unknown window mode": (SCHEMA, {"window": {"mode": "before", "duration": "1h"}}, "UNKNOWN_MODE"),
    "window without a unit": (SCHEMA, {"window": {"duration": "90"}}, "BAD_DURATION"),
    "window of a wrong type": (SCHEMA, {"window": "1h"}, "BAD_FIELD"),
    "unknown distribution": (SCHEMA, {"distribution": {"name": "gauss"}}, "UNKNOWN_DISTRIBUTION"),
    "distribution without a name": (SCHEMA, {"distribution": {"params": {"shape": "2"}}}, "MISSING_FIELD"),
    "name as a parameter": (OPERATOR, {"distribution": {"name": "normal", "params": {"name": "x"}}}, "BAD_FIELD"),
    "two parameters in one": (OPERATOR, {"distribution": {"name": "normal", "params": {"mu": "a,b"}}}, "BAD_FIELD"),
    "unknown seed": (SCHEMA, {"seed": {"strategy": "hourly"}}, "UNKNOWN_STRATEGY"),
    "clauses as one text": (SCHEMA, {"constraints": {"only": "hours=8"}}, "BAD_FIELD"),
    "empty clause": (OPERATOR, {"constraints": {"only": [""]}}, "BAD_FIELD"),
    "unknown clause": (OPERATOR, {"constraints": {"avoid": ["moon=full"]}}, "UNKNOWN_CLAUSE"),
    "unknown concurrency": (SCHEMA, {"policy": {"concurrency": "Forbid"}}, "BAD_PARAMETER"),
    "unknown catch-up": (SCHEMA, {"policy": {"catchup": "all"}}, "BAD_FIELD"),
    "catch-up of a wrong type": (SCHEMA, {"policy": {"catchup": ["latest"]}}, "BAD_FIELD"),
    "concurrency of a wrong type": (SCHEMA, {"policy": {"concurrency": ["queue"]}}, "BAD_PARAMETER"),
    "negative deadline": (SCHEMA, {"policy": {"deadline": "-5s"}}, "NEGATIVE_DURATION"),
    "unknown zone": (OPERATOR, {"timezone": "Europe/Pari"}, "UNKNOWN_ZONE"),
    "zone of the server": (OPERATOR, {"timezone": "Local"}, "UNKNOWN_ZONE"),
    "six fields": (OPERATOR, {"schedule": "0 0 3 * * *"}, "FIELD_COUNT"),
    "macro": (OPERATOR, {"schedule": "@daily"}, "MACRO"),
    "time that never comes": (OPERATOR, {"schedule": "0 0 31 2 *"}, "NEVER"),
    "line and zone": (RULE, {"schedule": "0 3 * * * @win(after,1h)", "timezone": "UTC"}, "BAD_FIELD"),
    "line and empty constraints": (RULE, {"schedule": "0 3 * * * @tz(UTC)", "constraints": {}}, "BAD_FIELD"),
    "line with a policy and policy": (
        RULE,
        {"schedule": "0 3 * * * @policy(deadline=5m)", "policy": {"catchup": "none"}},
        "BAD_FIELD",
    ),
    "window of more than a year": (RULE, {"window": {"duration": "8784h1ns"}}, "BAD_FIELD"),
    "end before start": (
        RULE,
        {"startTime": "2026-03-01T00:00:01Z", "endTime": "2026-03-01T00:00:00Z"},
        "BAD_FIELD",
    ),
    "unknown field": (OPERATOR, {"timeZone": "UTC"}, "UNKNOWN_FIELD"),
    "unknown field of the policy": (OPERATOR, {"policy": {"startingDeadlineSeconds": 5}}, "UNKNOWN_FIELD"),
}


def spec_of(changes):
    """The minimal spec with changes; None removes a field."""
    return {name: value for name, value in {**MINIMAL, **changes}.items() if value is not None}
