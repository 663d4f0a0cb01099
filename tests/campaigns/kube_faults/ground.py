"""Ground of the campaign: a cluster with an audit log, ends of its pods, and the Jobs that operators have created."""

import json
import threading
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import httpx2

from kron.kube.names import KEY, KRONJOB_LABEL, PERIOD_ID, TRIGGER
from tests import postgres
from tests.campaigns.kube_faults.job_watch import JobWatch
from tests.kube.cluster.audit_log import LOG, POLICY
from tests.kube.cluster.control_plane import API_SERVER, Cluster
from tests.kube.cluster.pods import END, PHASES, end_pod
from tests.kube.cluster.rights import kubeconfig_of_operator, user_of
from tests.kube.conftest import apply_definition

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Request", "verbs": ["create"], "resources": [{"group": "batch", "resources": ["jobs"]}]},
        {"level": "None"},
    ],
}
HOME = "kron"  # namespace of the operators' service account
PODS_SECONDS = 0.2  # between two looks at the pods


class AuditedCluster(Cluster):
    """Control plane whose API server logs each Job that is created, before it answers."""

    @property
    def audit_log(self):
        return self.folder / LOG

    def _start(self, program, options):
        if program == API_SERVER:
            policy = self.folder / POLICY
            policy.write_text(json.dumps(AUDIT_POLICY), encoding="utf-8")
        super()._start(program, options)


class Period(NamedTuple):
    """Period of a KronJob, or a request for a run."""

    kronjob: str
    period: str
    trigger: str


class CreatedJob(NamedTuple):
    """Job that was created, and the key of its run."""

    name: str
    key: str


class JobLog:
    """Jobs that operators have created, by the audit log and by a watch. Each one counts, also if it is gone."""

    def __init__(self, cluster):
        self.cluster, self.lock, self.offset, self.rest = cluster, threading.Lock(), 0, b""
        self.created = defaultdict(lambda: defaultdict(list))  # by namespace and period
        self.watch = JobWatch(cluster)

    def of(self, namespace):
        """The Jobs of each period. A creation counts if the log has it, or if the watch has seen its Job.

        The log does not tell whether a request of a client that was killed has created its Job.
        """
        with self.lock:
            self._read()
            logged = {period: Counter(jobs) for period, jobs in self.created[namespace].items()}
        seen = defaultdict(Counter)
        for body in self.watch.of(namespace):
            period, job = _job_of(body)
            seen[period][job] += 1
        periods = logged.keys() | seen.keys()
        return {period: list((logged.get(period, Counter()) | seen[period]).elements()) for period in periods}

    def _read(self):
        with self.cluster.audit_log.open("rb") as log:
            log.seek(self.offset)
            *lines, self.rest = (self.rest + log.read()).split(b"\n")
            self.offset = log.tell()
        for line in lines:
            entry = _entry_of(line)
            is_created = entry.get("responseStatus", {}).get("code") == 201 and "dryRun" not in entry["requestURI"]
            if is_created and entry["user"]["username"] == user_of(HOME):
                period, job = _job_of(entry["requestObject"])
                self.created[entry["objectRef"]["namespace"]][period].append(job)


class Ground:
    """A cluster, its Jobs, and its pods, which end as their annotations say."""

    def __init__(self, cluster, folder, kubeconfig):
        self.cluster, self.folder, self.kubeconfig, self.jobs = cluster, folder, kubeconfig, JobLog(cluster)
        self.stop, self.lock = threading.Event(), threading.Lock()
        self.closing, self.postgres = ExitStack(), None

    def database(self):
        """The URL of a new database of a PostgreSQL server, which is started for the first one."""
        with self.lock:
            self.postgres = self.postgres or self.closing.enter_context(postgres.running())
            return self.postgres.url(self.postgres.database())

    def end_pods(self):
        while not self.stop.wait(PODS_SECONDS):
            try:
                path = "/api/v1/pods?fieldSelector=status.phase=Pending&resourceVersion=0"
                for pod in self.cluster.do("GET", path)["items"]:
                    end = (pod["metadata"].get("annotations") or {}).get(END, "success")
                    if end in PHASES:
                        end_pod(self.cluster, pod, end)
            except (httpx2.HTTPError, AssertionError, OSError):  # the API server restarts
                time.sleep(PODS_SECONDS)


@contextmanager
def ground(release, folder):
    """A cluster that is stopped afterwards."""
    cluster = AuditedCluster(release)
    try:
        cluster.start()
        apply_definition(cluster)
        cluster.do("POST", "/api/v1/namespaces", {"metadata": {"name": HOME}})
        found = Ground(cluster, folder, kubeconfig_of_operator(cluster, HOME, everywhere=True))
        thread = threading.Thread(target=found.end_pods, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            found.stop.set()
            thread.join()
            found.jobs.watch.close()
            found.closing.close()
    finally:
        cluster.close()


def _job_of(body):
    """The period and the name of a Job."""
    metadata = body["metadata"]
    annotations = metadata["annotations"]
    period = Period(metadata["labels"][KRONJOB_LABEL], annotations[PERIOD_ID], annotations.get(TRIGGER, ""))
    return period, CreatedJob(metadata["name"], annotations[KEY])


def _entry_of(line):
    """An entry of the log. A line that a kill has cut is none."""
    try:
        return json.loads(line) if line else {}
    except ValueError:
        return {}
