"""Watch of the Jobs in a cluster, by the administrator. It knows each Job that has existed, by its identifier."""

import json
import threading
from collections import defaultdict

from kron.kube.kind import JOB
from kron.kube.names import KEY

PAUSE_SECONDS = 0.2  # after a failure: the API server restarts
SILENCE_SECONDS = 20.0


class JobWatch:
    """Jobs that have existed, by their namespaces. It begins with a list after each failure."""

    def __init__(self, cluster):
        self.cluster, self.seen, self.stopped = cluster, defaultdict(dict), threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def of(self, namespace):
        """The Jobs of a namespace that have existed."""
        return list(self.seen[namespace].values())

    def close(self):
        """Stop with the next change, or when the cluster is closed."""
        self.stopped.set()

    def _run(self):
        while not self.stopped.is_set():
            try:
                found = self.cluster.do("GET", JOB.path())
                for job in found["items"]:
                    self._note(job)
                self._follow(found["metadata"]["resourceVersion"])
            except Exception:  # the API server restarts, or ends the watch with an error
                self.stopped.wait(PAUSE_SECONDS)

    def _follow(self, version):
        path = f"{JOB.path()}?watch=true&resourceVersion={version}&timeoutSeconds={SILENCE_SECONDS:.0f}"
        with self.cluster.http.stream("GET", path, timeout=SILENCE_SECONDS + 5) as answer:
            for line in answer.iter_lines():
                if self.stopped.is_set():
                    return
                self._note(json.loads(line)["object"])

    def _note(self, job):
        metadata = job["metadata"]
        if KEY in metadata.get("annotations", {}):
            self.seen[metadata["namespace"]][metadata["uid"]] = {"metadata": metadata}
