"""The checker: from what was written and what was seen to what is wrong. It knows nothing of how plans are made."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from tests.simulation import counting, coverage, outside, records, waking
from tests.simulation.lateness import Downtimes
from tests.simulation.liveness import Watch, of_end
from tests.simulation.replay import Replay
from tests.simulation.world import Result

MOST = 20  # violations that anybody will read


def check(result: Result) -> list[str]:
    """Every rule that the history breaks, up to a number."""
    return list(islice(_violations(result), MOST))


def _violations(result: Result) -> Iterator[str]:
    setting, replay, watch, downtimes = result.setting, Replay(), Watch(result), Downtimes(result)
    yield from result.broken
    latest, set_back = 0, deque(sorted(result.history.set_back))
    for write, story in replay.steps(result.history):
        when = f"{write.at:.3f}"
        latest = max(latest, write.shown)
        while set_back and set_back[0][0] <= write.at:
            latest = max(latest, set_back.popleft()[1])
        yield from (f"{when} {text}" for text in records.of_write(write, story, latest))
        yield from (f"{when} {text}" for text in counting.of_write(write, story))
        yield from (f"{when} {text}" for text in watch.of_write(write, story))
        yield from (f"{when} {text}" for text in downtimes.of_write(write, story))
        yield from (f"{when} {text}" for text in waking.of_story(story))
        if write.now > latest:
            yield f"{when} {write.who} is {write.now - latest} ms ahead of the store's clock"
        if story.case and story.case.cursor * 1000 > latest:
            yield f"{when} the cursor is ahead of the clock: {story.identity} {story.case.cursor}"
    for story in replay.stories.values():
        yield from waking.of_story(story)
        yield from coverage.of_story(story, result.shown, setting.tick + 60_000)
        yield from counting.of_end(story, result.shown, setting.tick + 60_000)
    if not setting.lossy:
        yield from outside.of_history(result.history, replay, wild=setting.wild)
    yield from of_end(result, replay.stories)
