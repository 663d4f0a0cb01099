"""Faults on a real Kubernetes cluster: `make kube-faults`.

    python -m tests.campaigns.kube_faults [--short] [--only PATTERN] [--no-planted]

Each row of the table is a fault, with a namespace and operators of its own for each repetition. The audit log of the
API server and a watch say which Jobs the operators have created: at most one for each period. Afterwards the audit of
the stores is clean, each executed run has had its Job, and each Job has its run. Then each protection is removed from
an operator in turn, and a row must find that.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.campaigns.kube_faults.campaign import Campaign, table_of
from tests.campaigns.kube_faults.ground import ground
from tests.kube.cluster.release import built_release

MAX_SHOWN = 40  # problems
KILLS = 200  # in the whole campaign


def main(args):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", default=bool(os.environ.get("KRON_KUBE_FAULTS_SHORT")))
    parser.add_argument("--only", default="", metavar="PATTERN", help="rows whose name matches")
    parser.add_argument("--most", type=int, default=1_000, metavar="N", help="repetitions of a row at most")
    parser.add_argument("--no-planted", action="store_true", help="keep all protections")
    given = parser.parse_args(args)
    release = built_release()
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() else None
    began, folder = time.monotonic(), Path(tempfile.mkdtemp(prefix="kube-faults-", dir=place))
    print(f"Kubernetes {release.version}; the operators' stores and logs are in {folder}", flush=True)
    with ground(release, folder) as found:
        campaign = Campaign(found, given.only)
        findings = campaign.run(most=given.most, is_short=given.short)
        planted = {} if given.no_planted or given.short else campaign.run_planted()
    return tell(findings, planted, folder, time.monotonic() - began, is_whole=not (given.short or given.only))


def tell(findings, planted, folder, seconds, *, is_whole):
    """Print the tables and the last line; return the exit status."""
    repetitions = [each for found in findings.values() for each in found]
    notes = sum((each.notes for each in repetitions), Counter())
    print(table_of({name: found for name, found in findings.items() if found}))
    for name, count in sorted(notes.items()):
        print(f"{count:8} {name}")
    problems = [problem for each in repetitions for problem in each.problems]
    kills = sum(count for name, count in notes.items() if name.startswith("killed"))
    if is_whole and kills < KILLS:
        problems.append(f"{kills} kills, not {KILLS}")
    print("\n".join(problems[:MAX_SHOWN]), end="\n" if problems else "")
    if planted:
        print("\nprotections removed in turn: each must have problems\n" + table_of(planted))
    missed = [name for name, found in planted.items() if not any(each.problems for each in found)]
    for name, found in planted.items():
        print("\n".join(f"{name}: {problem[:200]}" for each in found for problem in each.problems[:2]))
    problems += [f"nothing has found {name}" for name in missed]
    if problems:
        print(f"the stores and logs are kept in {folder}")
    else:
        shutil.rmtree(folder)
    periods, jobs = sum(each.periods for each in repetitions), sum(each.jobs for each in repetitions)
    counts = (
        f"{len(repetitions)} repetitions, {kills} kills, {periods} periods, {jobs} Jobs, {len(planted)} protections"
    )
    print(f"{'FAIL' if problems else 'PASS'}: {counts}, {len(problems)} problems; {seconds:.0f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
