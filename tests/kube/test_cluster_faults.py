"""The short campaign of faults on a real cluster: each Job once, each period accounted for."""

import pytest

from tests.campaigns.kube_faults.__main__ import main
from tests.kube.cluster.release import chosen_release


@pytest.mark.slow
@pytest.mark.first
def test_short_campaign_of_faults_has_no_problems(capsys):
    release = chosen_release()
    if release.missing():
        pytest.skip(f"Kubernetes {release.version} is not in {release.programs}: run `make kube`")
    status = main(["--short"])
    assert status == 0, capsys.readouterr().out
