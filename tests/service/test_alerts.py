"""Every alert of deploy/alerts.yaml fires once, for its cause, in a real Prometheus that scrapes real processes."""

import shutil
import subprocess

import pytest

from tests.campaigns.alerts import ALERTS, every_alert, names, shortened

needs_prometheus = pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs the package prometheus")


@needs_prometheus
def test_alert_rules_pass_promtool(tmp_path):
    short = tmp_path / "short.yaml"
    short.write_text(shortened(ALERTS.read_text()))
    for path in (ALERTS, short):
        subprocess.run(["promtool", "check", "rules", path], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.first
@pytest.mark.slow
@needs_prometheus
def test_every_alert_fires_for_its_cause():
    assert set(every_alert()) == set(names())
