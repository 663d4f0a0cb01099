"""Servers: the API server and its database are killed, restored and compacted under the operator."""

import signal
import time

from kron.kube.kind import JOB
from kron.rules.run_state import State
from tests.campaigns.kube_faults.world import ALLOW, OFTEN
from tests.kube.cluster.control_plane import API_SERVER, CONTROLLERS
from tests.kube.cluster.release import ETCD

NAMES = ("a", "b")
DOWN_SECONDS = 3.0
BACKUP_SECONDS = 60.0


def _begin(world, **options):
    operator = world.operator(**options)
    for name in NAMES:
        world.put(name)
    world.put("long", "never", policy={"concurrency": "forbid"})
    operator.start()
    for name in NAMES:
        world.ended(operator, name, 1)
    return operator


def _end(world, operator):
    """Wait until runs succeed again, and no end has been overlooked."""
    for name in NAMES:
        world.ended(operator, name, 2)
        world.change(name, policy={**ALLOW, "suspend": True})
    operator.until(lambda: not any(run.open for name in NAMES for run in operator.runs(name)), "all runs end")
    world.check(len(world.created("long")) == 1, "forbid does not hold")


def restart_api_server(world):
    operator = _begin(world)
    for sign in (signal.SIGKILL, signal.SIGTERM):
        world.cluster.processes.stop(API_SERVER, sign)
        time.sleep(DOWN_SECONDS)
        world.cluster.start_api_server()
        world.ended(operator, "a", 1)
    _revive(world.cluster)
    _end(world, operator)


def kill_etcd(world):
    operator = _begin(world)
    world.cluster.processes.stop(ETCD, signal.SIGKILL)
    time.sleep(DOWN_SECONDS)
    world.cluster.start_etcd()
    world.cluster.processes.until(lambda: world.cluster.request("GET", "/readyz").is_success, 180, "the API server")
    _revive(world.cluster)
    _end(world, operator)


def _revive(cluster):
    """Start the controllers again if the time without an API server has ended them."""
    process = cluster.processes.living.get(CONTROLLERS)
    if process is None or process.poll() is not None:
        cluster.processes.living.pop(CONTROLLERS, None)
        cluster.start_controllers()


def restore_etcd(world):
    """Jobs that the backup does not have are lost. They do not run again."""
    operator = _begin(world)
    world.put("later", "never", schedule="plus: */20 * * * * *")
    with world.cluster.database_of_now():
        backup = time.time()
        time.sleep(BACKUP_SECONDS)
        young = {run.key for run in operator.runs("later") if run.open and run.sent > 1000 * backup}
    world.cluster.processes.stop(CONTROLLERS)  # they know later versions than the database
    world.cluster.start_controllers()
    world.check(bool(young), "no Job was younger than the backup")
    operator.until(
        lambda: all(run.state is State.LOST for run in operator.runs("later") if run.key in young),
        "the Jobs that the backup does not have are lost",
    )
    _end(world, operator)


def compact(world):
    """Deletions in versions that are compacted are told by a list."""
    proxy = world.proxy()
    operator = _begin(world, proxy=proxy)
    world.put("gone", "never", schedule="plus: */5 * * * * *")
    operator.until(lambda: world.living_jobs("gone"), "a Job")
    (job, *_) = world.living_jobs("long")
    proxy.refuse(True)
    world.cluster.do("DELETE", JOB.path(world.namespace, job["metadata"]["name"]))
    world.remove("gone")
    world.change("a", schedule=OFTEN, policy={**ALLOW, "deadline": "30m"})
    world.cluster.compact()
    world.cluster.restart_api_server()
    _revive(world.cluster)
    proxy.refuse(False)
    operator.until(
        lambda: operator.runs("long")[0].state in (State.FAILED, State.LOST), "the deletion of a Job is seen"
    )
    count = len(operator.runs("gone"))
    for name in NAMES:
        world.ended(operator, name, 2)
    world.check(len(operator.runs("gone")) <= count + 1, "a KronJob runs after its deletion")
