"""Job set: jobs, tasks and event handlers that are declared before their scheduler exists."""

from __future__ import annotations

from kron.apps.embedded.declared import Declared
from kron.apps.embedded.job_declarations import JobDeclarations
from kron.apps.embedded.run_handlers import RunHandlers
from kron.apps.embedded.running import Setup
from kron.engine.clock import SystemTimer
from kron.engine.events import silent
from kron.engine.settings import Settings

ANY_STORE = "postgresql:"  # never opened: a store for which no declaration is refused


class JobSet(JobDeclarations):
    """Declares jobs for schedulers that are created later: `scheduler.include(jobs)`.

    Texts, options and arguments are checked at once.
    """

    def __init__(self) -> None:
        declared = dict[str, Declared]()
        handlers, settings = RunHandlers(declared), Settings()
        super().__init__(Setup(ANY_STORE, silent, 1, None, None, SystemTimer(), settings, None, declared, {}, handlers))
