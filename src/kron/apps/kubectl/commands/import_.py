"""`kubectl kron import`: `kron import cronjobs`, for people who have the plugin only."""

from __future__ import annotations

from kron.apps.cli.commands.import_cronjobs import run

__all__ = ["run"]
