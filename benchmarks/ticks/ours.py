"""Kron's own workers, by the role and under the rules of a real installation."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.postgres import connect

from benchmarks.ticks.bare import SQL


class Ours:
    """So many workers that share the shards, each in its own process."""

    def __init__(
        self,
        url: str,
        owner_url: str,
        count: int,
        *,
        workers: int = 1,
        lookahead: int = 120_000,
        parallel_commits: int = 2,
    ) -> None:
        self.owner, self.count, self.lookahead = connect(owner_url, autocommit=True), count, lookahead
        words = [sys.executable, "-m", "benchmarks.ticks.hand", url]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        shares = [
            [*words, str(n), str(workers), str(count), str(lookahead), str(parallel_commits)] for n in range(workers)
        ]
        self.hands = [subprocess.Popen(share, **pipes) for share in shares]
        self.late = list[tuple[float, float]]()

    def prepare(self, due: int) -> None:
        """Let all of them be due again."""
        self.owner.execute(SQL["end_runs"].encode())
        self.owner.execute(SQL["set_back"].encode(), {"due": due})

    def foresee(self, due: int) -> None:
        """Let the workers plan ahead, if they do."""
        if self.lookahead:
            self.tell("foresee", due)

    def tick(self, due: int) -> int:
        """Handle all that is due."""
        answers = self.tell("tick", due)
        self.late.append((max(answer["p50"] for answer in answers), max(answer["p99"] for answer in answers)))
        return sum(int(answer["done"]) for answer in answers)

    def tell(self, word: str, due: int) -> list[dict[str, float]]:
        """What all of them answer."""
        for hand in self.hands:
            hand.stdin.write(f"{word} {due}\n")
            hand.stdin.flush()
        return [json.loads(hand.stdout.readline()) for hand in self.hands]

    def close(self) -> None:
        """Let them go."""
        self.owner.close()
        for hand in self.hands:
            hand.stdin.close()
            hand.wait()
