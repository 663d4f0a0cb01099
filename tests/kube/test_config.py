"""Where the operator finds its cluster: a kubeconfig, or nothing and then a clear error."""

import asyncio
import json

import pytest

from kron.errors import InvalidSetting
from kron.kube.config import configuration, connect
from kron.kube.kind import JOB, Place


def kubeconfig(url, **changes):
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}],
        "current-context": "x",
        **changes,
    }


def in_file(folder, monkeypatch, content):
    path = folder / "config"
    path.write_text(json.dumps(content))
    monkeypatch.setenv("KUBECONFIG", str(path))


def test_cluster_of_the_kubeconfig_is_reached(server, tmp_path, monkeypatch):
    in_file(tmp_path, monkeypatch, kubeconfig(server.url))

    async def found():
        api = connect(configuration())
        try:
            return await api.get(JOB, Place("shop", "none"))
        finally:
            await api.close()

    assert asyncio.run(found()) is None
    assert server.count("GET", "/none") == 1


@pytest.mark.parametrize("change", [{"current-context": "other"}, {"current-context": None, "contexts": []}])
def test_kubeconfig_without_a_cluster_is_refused(tmp_path, monkeypatch, change):
    in_file(tmp_path, monkeypatch, kubeconfig("http://127.0.0.1:1", **change))
    with pytest.raises(InvalidSetting, match="no Kubernetes cluster configured") as caught:
        configuration()
    assert caught.value.code == "NO_CLUSTER"


def test_missing_kubeconfig_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(InvalidSetting, match="KUBECONFIG"):
        configuration()
