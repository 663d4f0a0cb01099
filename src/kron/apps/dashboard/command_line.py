"""Command line: the command that does the same as a form, for people who may not send the form.

A viewer can paste it, or pass it on to an operator. A page shows no command if there is none that works.
"""

from __future__ import annotations

from shlex import quote

from kron.apps.dashboard.context import DashboardContext
from kron.timing.zone import rfc3339

MAX_LENGTH = 600  # characters: a longer command is not shown, because a part of it would not work
HIDDEN = "…"  # what stands for the password of a store
OWN_HOST = "127.0.0.1"


class CommandLine:
    """Commands for the store or the service of a dashboard. Empty texts: no command does it."""

    def __init__(self, context: DashboardContext, port: int | None) -> None:
        """Create it.

        Args:
            context: Names the store and the service.
            port: Port of this dashboard, which another one cannot use.
        """
        self.service_url, self.port = context.service_url, port
        name = context.store_name
        is_reachable = not name.startswith("memory") and not self.service_url  # no other process can open that memory
        self.store = ('"$KRON_STORE"' if HIDDEN in name else quote(name)) if name and is_reachable else ""

    def pause(self, name: str, note: str = "", until: int | None = None) -> str:
        """Pause a schedule; `until` is in milliseconds."""
        end = "" if until is None else rfc3339(until // 1000)
        return self._on_schedule("pause", name, note=note, until=end)

    def resume(self, name: str, note: str = "") -> str:
        """Resume a schedule."""
        return self._on_schedule("resume", name, note=note)

    def trigger(self, name: str, note: str = "") -> str:
        """Run a schedule now. The command for a service has no option for the reason."""
        return self._on_schedule("trigger", name, note="" if self.service_url else note)

    def backfill(self, name: str, first: int, last: int) -> str:
        """Run the periods of a time again; its ends are in milliseconds."""
        if not self.service_url:
            return self.operate()
        return self._on_schedule("backfill", name, first=rfc3339(first // 1000), last=rfc3339(last // 1000))

    def redrive(self, *keys: str) -> str:
        """Run the periods of runs again."""
        return self._joined("schedules redrive", *keys, url=self.service_url) if self.service_url else self.operate()

    def operate(self) -> str:
        """Open a dashboard of the same store in which all forms work."""
        listen = f"{OWN_HOST}:{self.port % 65_535 + 1}" if self.port else ""
        return self._joined("ui --operator", store=self.store, listen=listen) if self.store else ""

    def worker(self, option: str = "") -> str:
        """Start a worker."""
        return self._joined(f"worker{option}", store=self.store or '"$KRON_STORE"')

    def _on_schedule(self, verb: str, name: str, **options: str) -> str:
        if self.service_url:
            return self._joined(f"schedules {verb}", name, url=self.service_url, **options)
        return self._joined(verb, name, store=self.store, **options) if self.store else ""

    def _joined(self, verb: str, *names: str, store: str = "", **options: str) -> str:
        """Return a command. A value that begins with a dash is no option in it."""
        values = [f"--{name}={quote(value)}" for name, value in options.items() if value]
        place = [f"--store={store}"] if store else []
        dashes = ["--"] if any(name.startswith("-") for name in names) else []
        text = " ".join(["kron", verb, *place, *values, *dashes, *map(quote, names)])
        return text if len(text) <= MAX_LENGTH else ""
