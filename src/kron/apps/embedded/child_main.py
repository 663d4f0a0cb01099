"""Main program of a child process: `python -m kron.apps.embedded.child_main ANSWER` calls one function."""

from __future__ import annotations

import os
import pickle  # both ends are ours: the request is written by the parent process
import sys
import threading
import traceback
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

from kron.apps.embedded.current_run import as_current


def main(answer: Path) -> None:
    """Read a request from the standard input, call its function, and write the answer to a file."""
    pipe = sys.stdin.buffer
    path, (module, qualified_name), args, kwargs, run = pickle.load(pipe)  # noqa: S301  written by our parent
    threading.Thread(target=_end_with_parent, args=(pipe.fileno(),), daemon=True).start()
    sys.path[:] = path
    result, error, trace = None, None, ""
    try:
        function: Any = import_module(module)
        for name in qualified_name.split("."):
            function = getattr(function, name)
        with as_current(run) if run else nullcontext():
            result = function(*args, **kwargs)
    except BaseException as raised:  # also SystemExit: it ends only the function
        error, trace = raised, traceback.format_exc()
    part = answer.with_suffix(".part")
    part.write_bytes(_pickled(result, error, trace))
    part.replace(answer)  # a child that is killed here has not answered


def _pickled(result: object, error: BaseException | None, trace: str) -> bytes:
    try:
        return pickle.dumps((None, error, trace) if error else (result, None, ""))
    except Exception as reason:
        substitute = None if error is None else RuntimeError(f"{type(error).__name__}: {error} ({reason})")
        return pickle.dumps((None, substitute, trace))


def _end_with_parent(pipe: int) -> None:
    """End this process when its parent has died: its run counts as lost, and can run elsewhere."""
    os.read(pipe, 1)  # not through the buffer, whose lock would be held at the end of the interpreter
    os._exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
