"""22 KronJobs, one for each behavior that the tests of this folder look at. 20 of them run real pods."""

from datetime import UTC, datetime, timedelta

from kron.kube.names import PAUSE, RUN
from kron.timing.zone import rfc3339
from tests.kube.cluster.node import shell

PERIOD_SECONDS = 30
DURATION_SECONDS = 180  # after which the KronJobs that need no more periods end
LONG = "sleep 7200"
ENOUGH = {"successfulJobsHistoryLimit": 1000, "failedJobsHistoryLimit": 1000}
NEVER, EVERY_MINUTE = "0 3 1 1 *", "* * * * *"
ANNOTATIONS = {
    "paused": {PAUSE: '{"note": "migration", "who": "alice"}'},
    "requested": {RUN: "ticket-5"},
}


def specs(now):
    """The specs by name. They start at different seconds, because this machine can start a pod or two each second."""
    others = {
        "line": {"schedule": "* * * * * @tz(Asia/Tokyo) @win(after,20s)", "jobTemplate": shell("true")},
        "requested": {"schedule": NEVER, "jobTemplate": shell("true")},
        "service": {"schedule": "service: 7,37 * * * * *", "jobTemplate": shell("true")},
    }
    periodic = _policies() | _ends() | _outcomes(now) | _limits()
    end = rfc3339(int((now + timedelta(seconds=DURATION_SECONDS)).timestamp()))
    for number, (name, fields) in enumerate(periodic.items()):
        second = 2 * number % PERIOD_SECONDS
        schedule = f"plus: {second},{second + PERIOD_SECONDS} * * * * *"
        others[name] = {"schedule": schedule, "jobTemplate": shell("true"), "endTime": end, **fields}
    return {name: {**ENOUGH, **fields} for name, fields in others.items()}


def _policies():
    def spec(concurrency, script):
        return {"policy": {"concurrency": concurrency}, "jobTemplate": shell(script)}

    return {
        "allow": spec("allow", "sleep 45"),
        "forbid": spec("forbid", LONG),
        "replace": spec("replace", LONG),
        "queue": spec("queue", "sleep 40"),
        "coalesce": spec("coalesce", "sleep 75"),
    }


def _ends():
    return {
        "succeeds": {},
        "fails": {"jobTemplate": shell("exit 3")},
        "retries": {"jobTemplate": shell("exit 3", backoff=1)},
        "too-long": {"jobTemplate": shell(LONG, activeDeadlineSeconds=3), "policy": {"concurrency": "allow"}},
    }


def _outcomes(now):
    never = (now.astimezone(UTC) + timedelta(hours=12)).hour
    return {
        "short-deadline": {"policy": {"deadline": "1s"}, "endTime": None},
        "unschedulable": {"schedule": EVERY_MINUTE, "constraints": {"only": [f"hours={never}"]}},
        "window": {"schedule": EVERY_MINUTE, "window": {"mode": "after", "duration": "10s"}},
        "suspended": {"policy": {"suspend": True, "deadline": "5s"}, "endTime": None},
        "paused": {"policy": {"deadline": "5s"}, "endTime": None},
        "bad-template": {"jobTemplate": {"spec": {"template": {"spec": {"containers": []}}}}},
    }


def _limits():
    return {
        "one-kept": {"successfulJobsHistoryLimit": 1},
        "none-kept": {"successfulJobsHistoryLimit": 0},
        "expires": {"jobTemplate": shell("true", ttlSecondsAfterFinished=0)},
        "deleted": {"jobTemplate": shell(LONG)},
    }


def now():
    """The time at which the KronJobs are created."""
    return datetime.now(UTC)
