"""World of one repetition: a namespace, its KronJobs and operators, and what must be true of their records."""

from collections import Counter

from kron.kube.kind import EVENT, JOB, KRONJOB
from kron.rules.outcome import Outcome
from kron.rules.run_state import State
from kron.timing.zone import rfc3339
from tests.campaigns.kube_faults.operator import Operator
from tests.campaigns.kube_faults.proxy import Proxy
from tests.kube.cluster.control_plane import MERGE_PATCH
from tests.kube.cluster.objects import kronjob
from tests.kube.cluster.pods import template

OFTEN = "plus: */2 * * * * *"
YEARLY = "0 3 1 1 *"
ALLOW = {"concurrency": "allow"}
NAMESPACES = "/api/v1/namespaces"


class World:
    """A namespace. The operators in it are stopped afterwards, and their stores are compared with the Jobs."""

    def __init__(self, ground, name, planted=""):
        self.ground, self.cluster, self.namespace, self.planted = ground, ground.cluster, name, planted
        self.folder = ground.folder / name
        self.operators, self.proxies, self.problems, self.notes = [], [], [], Counter()
        self.periods = self.jobs = 0
        self.max_unknown = 0  # runs
        self.forgets = False  # whether a store was lost: it does not know the Jobs that are gone
        self.cluster.do("POST", NAMESPACES, {"metadata": {"name": name}})

    def operator(self, name="operator", *options, **more):
        """A new operator, which is not started."""
        self.operators.append(Operator(self, name, *options, planted=self.planted, **more))
        return self.operators[-1]

    def proxy(self):
        self.proxies.append(Proxy(self.cluster))
        return self.proxies[-1]

    def check(self, holds, text):
        if not holds:
            self.problems.append(f"{self.namespace}: {text}")

    def put(self, name, end="success", **spec):
        """Create a KronJob whose pods end so. It is due every 2 seconds."""
        fields = {"schedule": OFTEN, "jobTemplate": template(end), "policy": ALLOW, **spec}
        return self.cluster.do("POST", KRONJOB.path(self.namespace), kronjob(name, fields))

    def change(self, name, **spec):
        """Edit a KronJob; return when, in seconds."""
        body = self.patch(KRONJOB.path(self.namespace, name), {"spec": spec})
        entries = [each for each in body["metadata"]["managedFields"] if not each.get("subresource")]
        return max(entry["time"] for entry in entries)

    def patch(self, path, change):
        return self.cluster.do("PATCH", path, change, content_type=MERGE_PATCH)

    def remove(self, name):
        self.cluster.do("DELETE", KRONJOB.path(self.namespace, name))

    def kronjob(self, name):
        return self.cluster.do("GET", KRONJOB.path(self.namespace, name))

    def status(self, name):
        return self.kronjob(name).get("status") or {}

    def condition(self, name, kind):
        found = [each for each in self.status(name).get("conditions") or () if each["type"] == kind]
        return found[0] if found else {"status": "", "reason": ""}

    def living_jobs(self, name):
        """The Jobs of a KronJob that the cluster has, and is not deleting."""
        items = self.cluster.do("GET", f"{JOB.path(self.namespace)}?labelSelector=kron.io/kronjob={name}")["items"]
        return [each for each in items if "deletionTimestamp" not in each["metadata"]]

    def created(self, name):
        """The periods of the Jobs that were ever created for a KronJob."""
        return sorted(period.period for period in self.ground.jobs.of(self.namespace) if period.kronjob == name)

    def events(self):
        """How many events the operators have told, by reason."""
        found = self.cluster.do("GET", EVENT.path(self.namespace))["items"]
        return Counter(each["reason"] for each in found if each.get("reportingController") == "kron.io/operator")

    def ended(self, operator, name, count, state=State.SUCCESS):
        """Wait until so many runs of a KronJob have ended in a state, beyond those that have."""
        before = sum(run.state is state for run in operator.runs(name))
        operator.until(
            lambda: sum(run.state is state for run in operator.runs(name)) >= before + count,
            f"{count} more runs of {name} are {state}",
        )

    def close(self):
        """Stop everything, compare, and delete the namespace."""
        try:
            for operator in self.operators:
                if operator.process is not None:
                    operator.stop()
            self.compare()
        except Exception as error:
            self.problems.append(f"{self.namespace}: {error!r}")
        finally:
            for operator in self.operators:
                if operator.process is not None:
                    operator.kill()
            for proxy in self.proxies:
                proxy.close()
            self.cluster.request("DELETE", f"{NAMESPACES}/{self.namespace}")

    def compare(self):
        """Compare the Jobs that were created with the stores."""
        created = self.ground.jobs.of(self.namespace)
        self.jobs = sum(map(len, created.values()))
        for period, jobs in created.items():
            names = [job.name for job in jobs]
            self.check(len(jobs) == 1, f"{len(jobs)} Jobs for {period.kronjob} at {period.period}: {names}")
        keys = {job.key for jobs in created.values() for job in jobs}
        recorded = set()
        for operator in {operator.url: operator for operator in self.operators}.values():
            if operator.has_store():
                recorded |= self._compare_store(operator, keys)
        if not self.forgets:
            self.check(keys <= recorded, f"{len(keys - recorded)} Jobs without a run: {sorted(keys - recorded)[:3]}")

    def _compare_store(self, operator, keys):
        """Check a store. Returns the keys of the runs that may have Jobs."""
        ledger, audits = operator.ledger()
        runs = [run for each in ledger.values() for run in each]
        self.periods += len(runs) + sum(gap.count for each in audits for gap in each.gaps)
        self.notes.update(str(run.state) for run in runs)
        wrong = [each.identity for each in audits if not each.sound]
        self.check(not wrong, f"audit: unexplained periods of {wrong[:3]}")
        executed = {run.key: run for run in runs if run.outcome is Outcome.EXECUTED}
        unknown = [run for run in runs if run.state is State.UNKNOWN]
        self.check(len(unknown) <= self.max_unknown, f"{len(unknown)} runs are unknown")
        unmade = [run for key, run in executed.items() if key not in keys and run.state is not State.UNKNOWN]
        times = [f"{run.identity} at {rfc3339(run.nominal)} ({run.state})" for run in unmade[:3]]
        self.check(not unmade, f"{len(unmade)} executed runs without a Job: {', '.join(times)}")
        return executed.keys() | {run.key for run in runs if run.open}
