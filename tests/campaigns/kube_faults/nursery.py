"""Nursery: operator processes that are forked from one that has imported Kron. Importing takes longer than a test."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys

MODULES = ("kron.apps.cli", "kron.apps.operator.main", "kron.kube.config", "kron.stores.sqlite.store")
PR_SET_PDEATHSIG = 1
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__, *MODULES])


class Child:
    """Process of `kron`, as `subprocess.Popen` has it."""

    def __init__(self, words, log, environment):
        self.process = _context.Process(target=_run, args=(words, str(log), environment), daemon=True)
        self.process.start()
        self.pid = self.process.pid

    def poll(self):
        return self.process.exitcode

    def wait(self, seconds):
        self.process.join(seconds)
        if self.process.exitcode is None:
            raise subprocess.TimeoutExpired("kron", seconds)
        return self.process.exitcode

    def send_signal(self, sign):
        if self.process.exitcode is None:
            os.kill(self.pid, sign)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def _run(words, log, environment):
    """Be `kron`: it ends with the process from which it was forked."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    from kron.apps.cli import main
    from kron.engine import failpoint

    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(output, 2)
    os.environ.update(environment)
    failpoint._requested = environment.get("KRON_FAILPOINT", "")
    sys.argv[:] = ["kron", *words]
    planted = environment.get("KRON_PLANTED")
    if planted:
        from tests.campaigns.kube_faults.planted import PLANTED

        PLANTED[planted]()
    sys.exit(main())
