"""Background thread of a scheduler, and the event loop in which a scheduler without one runs."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

log = logging.getLogger("kron.scheduler")
Serve = Callable[[Callable[[], None]], Coroutine[Any, Any, None]]  # its argument is called when the scheduler runs


def run_in_new_loop(serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine to its end in a new event loop. Ctrl-C cancels it, and is not raised."""
    loop, pool = asyncio.new_event_loop(), ThreadPoolExecutor(thread_name_prefix="kron-loop")
    loop.set_default_executor(pool)  # threads of asyncio's own executor could not be abandoned
    serve_task = loop.create_task(serve())
    try:
        loop.run_until_complete(serve_task)
    except KeyboardInterrupt:
        serve_task.cancel()
        loop.run_until_complete(asyncio.wait([serve_task]))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        loop.close()


class BackgroundThread:
    """Daemon thread in which a scheduler runs. It does not keep the process alive: it ends when the process exits."""

    def __init__(self, serve: Serve, stop: Callable[[], None]) -> None:
        self.pid = os.getpid()  # a forked process has a copy of this object, and not of the thread
        self.serve, self.stop = serve, stop
        self.started: Future[None] = Future()
        self.ended: Future[None] = Future()

    def start(self) -> None:
        """Start the thread, and return when the scheduler runs. Raises the error of a start that failed."""
        threading.Thread(target=self._run, name="kron-scheduler", daemon=True).start()
        try:
            self.started.result()
        except KeyboardInterrupt:
            self.stop()
            raise
        _end_before_exit(self)

    def join(self) -> None:
        """Wait until the thread has ended. Raises the error with which the scheduler ended."""
        self.ended.result()

    def _run(self) -> None:
        try:
            run_in_new_loop(lambda: self.serve(lambda: self.started.set_result(None)))
        except BaseException as error:
            if self.started.done():
                log.error("the scheduler ended with an error", exc_info=error)
                self.ended.set_exception(error)
            else:
                self.started.set_exception(error)
        else:
            self.ended.set_result(None)
        finally:
            _THREADS.discard(self)


_THREADS: set[BackgroundThread] = set()  # those that run, in this process or in the one from which it was forked


def _end_before_exit(thread: BackgroundThread) -> None:
    """End a thread when the process exits, while executors still accept work.

    Functions of `atexit` are called too late: an executor then refuses work, and a SQLite store could record nothing.
    """
    global _is_registered
    if not _is_registered:
        register: Callable[[Callable[[], None]], object] = getattr(threading, "_register_atexit", atexit.register)
        register(_end_all)
        _is_registered = True
    if not thread.ended.done():
        _THREADS.add(thread)


_is_registered = False


def _end_all() -> None:
    threads = [thread for thread in _THREADS if thread.pid == os.getpid()]
    for thread in threads:
        thread.stop()
    for thread in threads:
        concurrent.futures.wait([thread.ended])
