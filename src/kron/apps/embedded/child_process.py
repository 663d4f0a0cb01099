"""Child process for one call of a plain function: its arguments go to it, and its result or exception comes back."""

from __future__ import annotations

import os
import pickle  # both ends are ours: the child only reads what this process wrote, and vice versa
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kron.apps.embedded.current_run import CurrentRun, current_run
from kron.errors import UsageError

CHILD = "kron.apps.embedded.child_main"


def check_process_call(function: Callable[..., Any], name: str, args: object, kwargs: object) -> None:
    """Reject a function that a child process cannot import, and arguments that cannot be pickled."""
    module, path = getattr(function, "__module__", ""), getattr(function, "__qualname__", "<lambda>")
    if module in ("__main__", None, "") or "<" in path:
        message = f'job {name!r} has executor="process", but a child process cannot import its function {path}'
        raise UsageError("NOT_IMPORTABLE", message, hint="define the function at the top level of an imported module")
    try:
        pickle.dumps((args, kwargs))
    except Exception as error:
        message = f'job {name!r} has executor="process", but its arguments cannot be pickled: {error}'
        raise UsageError(
            "BAD_ARGUMENTS", message, hint="pass plain values, and open resources in the function"
        ) from None


def call_in_process(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function in a new process, and return its result or raise its exception.

    Raises:
        ChildProcessError: The process was killed or ended before the function returned.
    """
    target, run = (function.__module__, function.__qualname__), current_run(None)
    request: tuple[list[str], tuple[str, str], Any, Any, CurrentRun | None] = (sys.path, target, args, kwargs, run)
    with tempfile.TemporaryDirectory(prefix="kron-") as folder:
        answer = Path(folder, "answer")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-m", CHILD, str(answer)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as child:  # noqa: S603  our own module
            assert child.stdin is not None  # noqa: S101  a pipe, as requested
            try:
                child.stdin.write(pickle.dumps(request))
                child.stdin.flush()
            except BrokenPipeError:
                pass  # the child has ended: its exit code says why
            code = child.wait()  # the pipe stays open: a child whose pipe is closed knows that its parent has died
        if not answer.exists():
            raise ChildProcessError(f"the child process {_ending(code)} before the function returned")
        result, error, trace = pickle.loads(answer.read_bytes())  # noqa: S301  written by our child
    if error is not None:
        error.add_note(f"in the child process:\n{trace}")
        raise error
    return result


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
