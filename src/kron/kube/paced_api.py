"""Paced client: requests that wait for their turn at a throttle."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext

from kron.kube.api import Api
from kron.kube.failure import NoAnswer, Refusal
from kron.kube.kind import Body
from kron.kube.throttle import Priority, Throttle

MAX_WAIT_SECONDS = 5.0  # for a turn; a launch must end within its time limit
TOO_MANY = 429


class PacedApi(Api):
    """Client of one API server whose requests share a throttle. Lists and watches of mirrors use a plain client.

    Args:
        api: The client.
        throttle: Rate limit that several clients share.
        priority: Priority of this client's requests.
    """

    def __init__(self, api: Api, throttle: Throttle, priority: Priority) -> None:
        super().__init__(api.http)
        self.throttle, self.priority = throttle, priority

    async def _request(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str] | None = None,
        body: Body | None = None,
        *,
        content_type: str = "application/json",
    ) -> Body:
        with self.throttle.starting() if self.priority is Priority.START else nullcontext():
            await self._turn()
            return await self._send(method, path, parameters, body, content_type)

    async def _send(
        self, method: str, path: str, parameters: Mapping[str, str] | None, body: Body | None, content_type: str
    ) -> Body:
        """Send a request, and let the throttle know how it ended."""
        try:
            answer = await super()._request(method, path, parameters, body, content_type=content_type)
        except Refusal as refusal:
            self.throttle.requests[method, refusal.status] += 1
            if refusal.status == TOO_MANY:
                self.throttle.slow_down()
            raise
        except NoAnswer:
            self.throttle.requests[method, 0] += 1
            raise
        self.throttle.requests[method, 200] += 1
        self.throttle.speed_up()
        return answer

    async def _turn(self) -> None:
        try:
            async with asyncio.timeout(MAX_WAIT_SECONDS if self.priority is Priority.START else None):
                await self.throttle.turn(self.priority)
        except TimeoutError:
            raise NoAnswer("too many requests were waiting", may_have_arrived=False) from None
