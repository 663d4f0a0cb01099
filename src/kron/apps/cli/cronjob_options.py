"""Options of `kron import cronjobs`."""

from __future__ import annotations

import argparse

from kron.apps.cli.options import add_context


def add_cronjob_options(command: argparse.ArgumentParser) -> None:
    """Add the options to the command."""
    add = command.add_argument
    file_help = "YAML or JSON file, folder of them, or - for stdin (default: the cluster of the kubeconfig)"
    add("-f", "--file", action="append", metavar="FILE", help=file_help)
    namespace_help = "namespace to read, or that of objects in files that name none (default: that of the kubeconfig)"
    add("-n", "--namespace", metavar="NS", help=namespace_help)
    add("-A", "--all-namespaces", action="store_true", help="read all namespaces")
    output_help = "text, json, or a new folder for one file per KronJob (default text)"
    add("-o", "--output", metavar="OUTPUT", default="text", help=output_help)
    add("--by", choices=("windows",), help="spread the load by windows (default: keep the times)")
    zone_help = "time zone of CronJobs without one: that of kube-controller-manager (default: UTC, with a note)"
    add("--cluster-zone", metavar="ZONE", help=zone_help)
    forbid_help = "write forbid for Forbid (default: coalesce, which is what Forbid does)"
    add("--strict-forbid", action="store_true", help=forbid_help)
    keep_help = "write the others if a CronJob cannot be imported, and exit 0 (default: write nothing, and exit 1)"
    add("--keep-going", action="store_true", help=keep_help)
    add_context(command)
    switch_help = "suspend this CronJob and let its KronJob take over, with no period lost or run twice"
    add("--switch", metavar="NS/NAME", help=switch_help)
    back_help = "suspend this KronJob and let its CronJob take over again"
    add("--switch-back", metavar="NS/NAME", help=back_help)
    shadow_help = "compare CronJobs of the cluster with the store of kron operator run --dry-run"
    add("--shadow", metavar="URL", help=shadow_help)
    prefix_help = "--identity-prefix of the dry run, for --shadow (default: none)"
    add("--identity-prefix", metavar="TEXT", default="", help=prefix_help)
