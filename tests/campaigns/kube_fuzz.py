"""10,000 random KronJobs: an API server and the operator agree on every one: `make kube-fuzz`."""

import argparse
import json
import sys
from collections import Counter
from random import Random

from tests.kube.agreement import disagreement, random_spec, refusal
from tests.kube.cluster.control_plane import running
from tests.kube.cluster.release import built_release
from tests.kube.conftest import apply_definition

MAX_SHOWN = 10


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.kube_fuzz")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    release = built_release()
    with running(release) as cluster:
        apply_definition(cluster)
        return campaign(cluster, options.count, Random(options.seed))


def campaign(cluster, count, random):
    found, refused, codes = [], 0, Counter()
    for number in range(count):
        spec = random_spec(random)
        error, text = refusal(spec), disagreement(cluster, spec)
        refused += bool(error)
        codes[error.partition(":")[0]] += 1
        if text:
            found.append((text, spec))
        if (number + 1) % 1_000 == 0:
            print(f"{number + 1} KronJobs, {len(found)} disagreements", flush=True)
    for text, spec in found[:MAX_SHOWN]:
        print(f"  {text}\n    {json.dumps(spec, ensure_ascii=False)[:500]}")
    print("refused by the operator:", ", ".join(f"{code} {n}" for code, n in codes.most_common() if code))
    text = f"{count} KronJobs, {refused} refused by the operator, {len(found)} disagreements"
    print(f"{'FAIL' if found or not refused else 'PASS'}: {text}")
    return int(bool(found) or not refused)


if __name__ == "__main__":
    sys.exit(main())
