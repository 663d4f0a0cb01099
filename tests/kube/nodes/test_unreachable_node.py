"""A node that is lost while a pod runs on it: the run ends as its Job does, and forbid skips meanwhile."""

import pytest

from tests.kube.cluster.node import shell
from tests.kube.nodes.kronjobs import LONG
from tests.kube.nodes.shop import Shop

pytestmark = pytest.mark.campaign


def test_run_on_a_lost_node_ends_as_its_job_does(cluster, node, namespace, tmp_path):
    shop = Shop(cluster, namespace, tmp_path)
    policy = {"concurrency": "forbid"}
    shop.create("held", {"schedule": "plus: */15 * * * * *", "policy": policy, "jobTemplate": shell(LONG)})
    with shop.operator:
        shop.until(lambda: shop.pods_in("held", "Running"), "the pod runs")
        node.lose()
        shop.until(lambda: node.condition() == "Unknown", "the control plane misses the node")
        skipped = {run.nominal for run in shop.runs("held") if str(run.outcome) == "skipped"}
        shop.until(lambda: new_skips(shop, skipped), "forbid skips while the node is lost")
        assert {str(run.reason) for run in new_skips(shop, skipped)} == {"overlap"}
        assert "Another run of the schedule was waiting or active." in shop.kubectl("kron", "why", "held")
        first = shop.runs("held")[0]
        assert first.open
        assert shop.status("held")["active"] == 1
        node.remove()
        shop.change("held", jobTemplate=shell("true"))
        ended = shop.run_with("held", state="failed")
        assert ended.key == first.key
        shop.until(lambda: "JobFailed" in shop.told("held"), "an event says so")
        node.start_kubelet()
        shop.run_with("held", state="success")
    shop.operator.audit()


def new_skips(shop, before):
    """The runs that were skipped since."""
    return [run for run in shop.runs("held") if str(run.outcome) == "skipped" and run.nominal not in before]
