"""Effective settings of a process: read from all sources, checked, and shown without secrets."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import fields

from kron.apps.cli.console import Screen
from kron.apps.redacted import redacted
from kron.apps.service.config import Config
from kron.apps.service.config_error import SECRET_SETTINGS
from kron.apps.service.config_reader import Setting, read_config, read_settings, unknown_variables
from kron.errors import UsageError


def settings_of(
    args: argparse.Namespace, screen: Screen, names: Sequence[str], *, worker: bool = False
) -> Config | None:
    """Return the configuration, or None after `--check`, which prints it.

    Unknown KRON_* variables cause a warning.

    Args:
        args: Parsed command line.
        screen: Output of the command.
        names: Flags of this command that are settings.
        worker: Whether the process is a worker without an HTTP API.
    """
    for variable, hint in unknown_variables(os.environ):
        screen.note(f"warning[CONFIG]: unknown variable {variable} in the environment is ignored")
        screen.note(f"  hint: {hint}")
    flags = flags_of(args, names)
    config = read_config(os.environ, flags, args.config or "", worker=worker)
    if not args.check:
        return config
    _show(config, read_settings(os.environ, flags, args.config or ""), screen)
    return None


def flags_of(args: argparse.Namespace, names: Sequence[str]) -> dict[str, str]:
    """Return the settings given on the command line. `--set` takes precedence over the other flags."""
    arguments = {name: getattr(args, name) for name in (*names, "log_format", "log_level")}
    flags = {name: _flag_text(value) for name, value in arguments.items() if value is not None and value is not False}
    if getattr(args, "no_worker", False):
        flags["run_worker"] = "false"
    for assignment in args.set:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise UsageError(
                "USAGE", f"--set {assignment!r} has no value", hint="use NAME=VALUE, such as --set TICK_MS=500"
            )
        flags[name] = value
    return flags


def _flag_text(value: object) -> str:
    """Return the value of a flag as a setting. The values of a flag that is repeated are a list."""
    return ",".join(value) if isinstance(value, list) else str(value)


def _show(config: Config, settings: dict[str, Setting], screen: Screen) -> None:
    rows = []
    for field in fields(Config):
        source = settings[field.name].source if field.name in settings else "default"
        rows.append((field.name.upper(), _printable_value(field.name, getattr(config, field.name)), source))
    screen.table(("SETTING", "VALUE", "FROM"), rows)


def _printable_value(name: str, value: object) -> str:
    if name in SECRET_SETTINGS:
        return "(set)" if value else ""
    if name == "store":
        return redacted(str(value))
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else "" if value is None else str(value)
