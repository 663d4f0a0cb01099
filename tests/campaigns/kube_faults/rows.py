"""Rows of the campaign: the faults, how often each is repeated, and whether it needs the cluster for itself."""

from typing import NamedTuple

from tests.campaigns.kube_faults import clocks, edits, kills, objects, replicas, servers, streams
from tests.kube.cluster.release import EDIT_TIMES_SINCE


class Row(NamedTuple):
    """Fault of the table."""

    name: str
    use: object  # called with the world
    repetitions: int
    is_short: bool = False  # whether the short campaign has it, once
    is_alone: bool = False  # whether it breaks the cluster for all others
    since: int = 0  # minor release of Kubernetes that it needs


ROWS = (
    Row("kill -9 at fail points and at random, 50 in each", kills.kill_often, 4),
    Row("kill -9 at fail points and at random, 9", kills.kill_some, 0, is_short=True),
    Row("watches cut every 3 s", streams.cut_watches, 3),
    Row("watches answered 410", streams.expired_watches, 3, is_short=True),
    Row("pages of lists answered 410", streams.expired_pages, 2),
    Row("409, 429 and 503 for 60 s", streams.storm, 2),
    Row("two operators, one PostgreSQL, kills", replicas.share_one_store, 2),
    Row("claim of a dead replica", replicas.release_claims, 2),
    Row("two operators, two stores", replicas.have_two_stores, 3),
    Row("store deleted while Jobs run", replicas.lose_store, 3, is_short=True),
    Row("clock +90 s", clocks.ahead_90, 2),
    Row("clock -90 s", clocks.behind_90, 2),
    Row("clock +1 day", clocks.ahead_day, 2),
    Row("clock -1 day", clocks.behind_day, 2),
    Row("Job deleted by hand", objects.delete_job, 10),
    Row("Job without its owner", objects.disown_job, 5),
    Row("foreign Job with the name", objects.take_name, 3),
    Row("namespace terminating", objects.terminate_namespace, 3),
    Row("quota 0", objects.forbid_jobs, 3),
    Row("invalid template", objects.break_template, 3),
    Row("edit while down, later than now", edits.edit_later, 5, is_short=True, since=EDIT_TIMES_SINCE),
    Row("edit while down, earlier than now", edits.edit_earlier, 5, since=EDIT_TIMES_SINCE),
    Row("suspended for 10 periods", edits.suspend, 5),
    Row("deleted and created again", edits.recreate, 5),
    Row("uninstalled", edits.uninstall, 10),
    Row("API server restarts", servers.restart_api_server, 2, is_alone=True),
    Row("etcd kill -9 and restart", servers.kill_etcd, 3, is_alone=True),
    Row("etcd restored from 60 s ago", servers.restore_etcd, 2, is_alone=True),
    Row("410 after a compaction", servers.compact, 2, is_alone=True),
    Row("definition deleted and applied", objects.delete_definition, 2, is_alone=True),
)
PROTECTIONS = {  # removed in a child process, and the row that must find it
    "random_names": Row("", kills.kill_once, 1),
    "adopt_nothing": Row("", replicas.lose_store, 1),
    "date_nothing": Row("", edits.edit_later, 1, since=EDIT_TIMES_SINCE),
    "start_at_once": Row("", edits.edit_later, 1, since=EDIT_TIMES_SINCE),
}
