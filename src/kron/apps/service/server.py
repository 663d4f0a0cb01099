"""The server under the application: uvicorn, which lets listeners go before it waits for the other answers."""

from __future__ import annotations

import socket

import uvicorn
from fastapi import FastAPI


class Server(uvicorn.Server):
    """Serves one application."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        app = self.config.app
        if isinstance(app, FastAPI) and hasattr(app.state, "parts"):
            app.state.parts.feed.close()
        await super().shutdown(sockets)
