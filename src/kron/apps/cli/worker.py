"""`kron worker`: look, plan, record and send, until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import gc
import signal
import socket
from uuid import uuid4

from kron.apps.cli.screen import Screen
from kron.apps.wiring import check_served, heeding, launchers, open_store
from kron.clock import SystemClock, SystemTimer
from kron.log import log_to
from kron.maintenance import Maintenance, maintaining
from kron.settings import Settings
from kron.within import EVERYWHERE, keep_within
from kron.worker import Worker

RARELY = (100_000, 50, 50)  # a pass makes many values and no cycles: looking for them took a third of its time


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Work. On SIGTERM or ^C it ends what it has begun, and hands its shards over."""
    gc.set_threshold(*RARELY)
    asyncio.run(_work(args, screen))
    return 0


async def _work(args: argparse.Namespace, screen: Screen) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    owner = f"{socket.gethostname()}/{uuid4().hex}"  # this incarnation, and never another
    keep_within(EVERYWHERE)
    await check_served(args.url)  # who cannot reach the store at all is told at once, too
    async with open_store(args.url) as store:
        sink = log_to(screen.out.write)
        how = Settings(batch=args.batch, lookahead=args.lookahead * 1000, lead=args.lead, skew=args.skew * 1000)
        timer, clock = SystemTimer(), SystemClock()
        senders = launchers(store, commands=args.commands, kubernetes=args.kubernetes)
        worker = Worker(store, senders, timer, owner=owner, settings=how, sink=sink, clock=clock)
        screen.note(f"{owner} works on {args.url.partition('@')[2] or args.url}")
        upkeep = Maintenance(store, timer, days=args.retention or None, sink=sink)
        async with heeding(store, worker.nudge), maintaining(upkeep):
            await worker.run(stop)
        now = await store.now()
        await store.lease(owner, now, now)  # it lives no longer: others need not wait for its lease to end
    screen.note(f"{owner} has stopped")
