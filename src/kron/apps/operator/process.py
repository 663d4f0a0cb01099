"""Process of the operator: its store, its connection to the cluster, its log and its signals."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from kron.apps.cycle_collector import collect_rarely
from kron.apps.open_files import allow_more
from kron.apps.operator.options import OperatorOptions
from kron.apps.operator.store_kind import check_kind
from kron.apps.wiring import check_served, open_store
from kron.engine.events import Event, Sink
from kron.engine.log_writer import log_stream
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import InvalidSetting


class _Log(logging.Handler):
    """Handler that passes warnings of the libraries on to the log of the operator."""

    def __init__(self, sink: Sink) -> None:
        super().__init__(logging.WARNING)
        self.sink = sink

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a record on."""
        self.sink(Event("library_warning", 0, {"logger": record.name, "text": record.getMessage()}))


def run_operator(options: OperatorOptions) -> int:
    """Run an operator until SIGTERM or Ctrl-C, and return the exit status.

    Raises:
        InvalidSetting: There is no cluster, the store cannot be opened, or a package is missing.
    """
    config = _kube_config()
    collect_rarely()
    allow_more()
    sink, log = log_stream(sys.stderr, options.log, "info")
    logging.basicConfig(level=logging.WARNING, handlers=[_Log(sink)])
    try:
        asyncio.run(_run(config, options, sink))
    finally:
        log.close()
    return 0


async def _run(config: Any, options: OperatorOptions, sink: Sink) -> None:
    from kron.apps.operator.cluster import watch_count
    from kron.apps.operator.dry_run import DryRun
    from kron.apps.operator.main import Operator

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # Windows: Ctrl-C cancels the task instead
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    set_tenant_scope(ALL_TENANTS)
    await check_served(options.store)
    _make_folder(options.store)
    api = config.connect(config.configuration(), watches=watch_count(options.namespaces))
    try:
        async with open_store(options.store) as store:
            await check_kind(store, options.store, options.defaults.identity_prefix, dry_run=options.dry_run)
            await (DryRun if options.dry_run else Operator)(api, store, options, sink).run(stop)
    finally:
        await api.close()


def _kube_config() -> Any:
    """Import the module that finds the cluster. Its packages are an optional extra."""
    try:
        config = import_module("kron.kube.config")
    except ImportError as error:
        message = f"the operator needs a package that is not installed: {error.name}"
        raise InvalidSetting("MISSING_PACKAGE", message, hint="run pip install 'kron-py[kubernetes]'") from None
    return config


def _make_folder(store: str) -> None:
    """Create the folder of a SQLite store. If that fails, opening the store tells why."""
    scheme, _, path = store.partition(":")
    if scheme == "sqlite":
        with suppress(OSError):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
