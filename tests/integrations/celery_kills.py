"""kill -9 of Celery beats under load: `make celery-kills`.

Two beats on one PostgreSQL publish 20 entries to a real broker, and are killed at random moments. Afterwards every
period must have arrived, under one task id. A message can arrive twice, because a killed beat may have published it.

    python -m tests.integrations.celery_kills [rabbitmq|redis] [--kills 20] [--seed N]
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.integrations.beats import Beat, Consumer, registered, wait_for
from tests.integrations.brokers import broker
from tests.postgres import running

ENTRIES = {f"entry{number:02}": 2 + number % 4 for number in range(20)}  # every 2 to 5 seconds
SETTLE_SECONDS = 120.0  # the leases of killed beats end within 30 s; then every missed period is published


class Campaign:
    """Two beats, and the messages that the broker received from them."""

    def __init__(self, folder, url, store, chance):
        self.beats = [Beat(folder, name, url, store, ENTRIES) for name in ("one", "two")]
        self.store, self.chance, self.kills = store, chance, 0

    def kill(self):
        """Kill one of the beats while it publishes, and start it again."""
        beat = self.chance.choice(self.beats)
        wait_for(lambda: beat.sent() > beat.sent_before, 60, beat.text)
        time.sleep(self.chance.uniform(0, 3))
        beat.kill()
        self.kills += 1
        beat.start(wait=False)

    def run(self, kills, consumer):
        """Kill beats so often. Returns the time from which on every period is expected, and up to which."""
        for beat in self.beats:
            beat.start()
        wait_for(lambda: len(registered(self.store)) == len(ENTRIES), 60, self.beats[0].text)
        first = int(time.time())
        for _ in range(kills):
            self.kill()
        last = int(time.time())
        deadline = time.monotonic() + SETTLE_SECONDS
        while consumer.lost(ENTRIES, first, last) and time.monotonic() < deadline:
            time.sleep(1)
        time.sleep(5)  # a second id of a period would arrive now
        for beat in self.beats:
            beat.stop()
        time.sleep(2)
        return first, last


def main(kind="rabbitmq", kills=20, seed=None):
    """Run the campaign with one broker. Returns 1 if a period was lost, or had two task ids."""
    seed = random.randrange(1 << 32) if seed is None else seed
    with tempfile.TemporaryDirectory() as folder, running() as server, broker(kind) as real_broker:
        campaign = Campaign(Path(folder), real_broker.url, server.url(server.database()), random.Random(seed))
        try:
            with Consumer(real_broker.url) as consumer:
                first, last = campaign.run(kills, consumer)
        finally:
            for beat in campaign.beats:
                beat.end()
        lost, doubled = consumer.lost(ENTRIES, first, last), consumer.doubled()
        received, without_key = len(consumer.messages), sum(message.key is None for message in consumer.messages)
    good = received and not lost and not doubled and not without_key and campaign.kills == kills
    ids = len({message.id for message in consumer.messages})
    print(f"{last - first} s, {received} messages, {ids} task ids, {consumer.repeated()} repeated under the same id")
    if lost:
        print("lost:", *lost[:10])
    figures = f"{len(lost)} lost periods, {doubled} doubled task ids, {without_key} messages without key"
    print(f"{'PASS' if good else 'FAIL'}: {kind}, {campaign.kills} kills, {figures} (seed {seed})", flush=True)
    return int(not good)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("brokers", nargs="*", default=["rabbitmq", "redis"])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    sys.exit(max(main(kind, options.kills, options.seed) for kind in options.brokers))
