"""`krontab log`: print the captured output of the last runs, and follow it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence

from kron.apps.cli.console import Screen
from kron.apps.host.place import Place
from kron.apps.host.state_folder import JOURNAL_NAME
from kron.apps.krontab.output_files import Reader, newest_outputs, output_folder
from kron.apps.krontab.parser import read_place
from kron.apps.krontab.records import ask_records, find_job, jobs_in_force
from kron.engine.registrar import Registrar
from kron.rules.run import Run
from kron.timing.zone import rfc3339

POLL_SECONDS = 0.5
MAX_FOLLOWED = 100  # files at once: those that were written last


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print the end of the captured output of the last runs, the newest last. With `--follow`, go on."""
    for _ in steps(args, screen):
        screen.out.flush()
        time.sleep(POLL_SECONDS)
    return 0


def steps(args: argparse.Namespace, screen: Screen) -> Iterator[None]:
    """Print the captured output. With `--follow`, print what is new at each further step."""
    place = read_place(args)
    follower = Follower(place, _identities(place, args.job), screen)
    if not follower.show(args.count, whole=args.follow) and not args.follow:
        screen.note("no output captured")
    while args.follow:
        yield
        follower.show(MAX_FOLLOWED, whole=True)


def _identities(place: Place, job: str | None) -> Sequence[str]:
    if job is not None:
        return [find_job(place, job)]
    return [state.identity for state in ask_records(place, lambda registrar: jobs_in_force(registrar, place))]


class Follower:
    """What was printed of each output file so far."""

    def __init__(self, place: Place, identities: Sequence[str], screen: Screen) -> None:
        self.place, self.screen = place, screen
        self.folders = [output_folder(place.state.parent / JOURNAL_NAME, identity) for identity in identities]
        self.readers: dict[str, Reader] = {}
        self.skipped: frozenset[str] | None = None  # keys of the runs before those that were shown first
        self.shown = ""  # key of the run whose output was printed last

    def show(self, count: int, *, whole: bool) -> int:
        """Print what is new in the newest files. Returns how many files there are."""
        files = newest_outputs(self.folders, max(count, MAX_FOLLOWED))
        if self.skipped is None:
            self.skipped = frozenset(file.key for file in files[:-count])
        files = [file for file in files if file.key not in self.skipped]
        self.readers = {file.key: self.readers.get(file.key) or Reader(file.path) for file in files}
        texts = {file.key: lines for file in files if (lines := self.readers[file.key].lines(whole=whole))}
        runs = self._runs([key for key in texts if key != self.shown])
        for key, lines in texts.items():
            if key != self.shown:
                self.screen.line(self.screen.paint(self.screen.out, "dim", self._head(key, runs)))
            self.shown = key
            for line in lines:
                self.screen.line(line)
        return len(files)

    def _runs(self, keys: Sequence[str]) -> Mapping[str, Run]:
        if not keys:
            return {}

        async def read(registrar: Registrar) -> list[Run | None]:
            return await registrar.store.runs_by_key(keys)

        return {run.key: run for run in ask_records(self.place, read) if run}

    def _head(self, key: str, runs: Mapping[str, Run]) -> str:
        run = runs.get(key)
        return (
            f"== {key[:12]}"
            if run is None
            else (f"== {self.place.short(run.identity)}, period {rfc3339(run.nominal)}, {run.state}")
        )
