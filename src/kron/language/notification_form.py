"""Forms of a notification: its occasions, and the means by which it is delivered."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from kron.errors import clip, did_you_mean
from kron.language.fault import Fault

MAX_ADDRESSES = 10  # of one notification
MAX_NOTIFICATIONS = 10  # of one job
_ADDRESS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=-]{0,63}(?:@[A-Za-z0-9][A-Za-z0-9.-]{0,252})?")
_PATH = re.compile(r"/[^\x00-\x1f\x7f]{1,1023}")
_URL = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:[/?][!-~]{0,1000})?")
_TARGETS = "mail:ADDRESS, exec:/path or post:URL"


class Occasion(StrEnum):
    """What a notification is about."""

    FAILURE = "failure"  # a run failed, was lost, or ended in an unknown way
    OUTPUT = "output"  # a run ended and has printed something
    MISSED = "missed"  # a period did not run
    RECOVERY = "recovery"  # a run succeeded after a failure or a missed period
    LATE = "late"  # a run started more than a minute after its time


class Means(StrEnum):
    """How a notification is delivered."""

    MAIL = "mail"  # to sendmail, for one or more addresses
    EXEC = "exec"  # to a program, as JSON on its standard input
    POST = "post"  # to a URL, as JSON


class NotificationForm(NamedTuple):
    """Notification of a job: its occasions, its means, and the addresses, the path of the program or the URL."""

    occasions: frozenset[Occasion]
    means: Means
    addresses: tuple[str, ...]


def read_notification(text: str) -> tuple[str, str]:
    """Parse `OCCASION[,OCCASION...]:TARGET`. Returns the target and the occasions, both as text.

    Raises:
        Fault: The text is not a notification.
    """
    names, colon, target = text.partition(":")
    if not colon:
        hint = f"write occasions and a target, such as failure,missed:mail:root (targets: {_TARGETS})"
        raise Fault("BAD_VALUE", f"{clip(text)!r} has no target", 0, len(text), hint)
    position = 0
    for name in names.split(","):
        if name not in list(Occasion):
            hint = did_you_mean(name, list(Occasion), f"use {', '.join(Occasion)}, separated by commas")
            end = max(position + len(name), position + 1)
            raise Fault("BAD_VALUE", f"{clip(name)!r} is not an occasion", position, end, hint)
        position += len(name) + 1
    try:
        _read_target(target)
    except Fault as fault:
        raise fault.moved(len(names) + 1) from None
    return target, names


def read_mailto(text: str) -> tuple[str, str]:
    """Parse the addresses of `mailto`. Returns the target and the occasions of the notification that it stands for."""
    _read_addresses(text)
    return f"{Means.MAIL}:{text}", str(Occasion.OUTPUT)


def notification_form(target: str, occasions: str) -> NotificationForm:
    """Return a notification of a stored command.

    Raises:
        ValueError: The stored texts are not a notification.
    """
    try:
        means, addresses = _read_target(target)
    except Fault as fault:
        raise ValueError(f"{fault.message}: {fault.hint}") from None
    return NotificationForm(frozenset(map(Occasion, occasions.split(","))), means, addresses)


def _read_target(text: str) -> tuple[Means, tuple[str, ...]]:
    means, _, rest = text.partition(":")
    if means not in list(Means):
        raise Fault("BAD_VALUE", f"{clip(text)!r} is not a target", 0, max(len(text), 1), f"write {_TARGETS}")
    start = len(means) + 1
    if means == Means.EXEC:
        if not _PATH.fullmatch(rest):
            message = f"{clip(rest)!r} is not an absolute path"
            raise Fault("BAD_VALUE", message, start, max(len(text), start + 1), "write exec:/path/of/a/program")
        return Means.EXEC, (rest,)
    if means == Means.POST:
        if not _URL.fullmatch(rest):
            message = f"{clip(rest)!r} is not a URL that begins with https:// or http://"
            raise Fault("BAD_VALUE", message, start, max(len(text), start + 1), "write post:https://host/path")
        return Means.POST, (rest,)
    try:
        return Means.MAIL, _read_addresses(rest)
    except Fault as fault:
        raise fault.moved(start) from None


def _read_addresses(text: str) -> tuple[str, ...]:
    """Return the addresses of a mail. None of them can be an option of a program or have a line feed."""
    addresses, position = text.split(","), 0
    for address in addresses[: MAX_ADDRESSES + 1]:
        if not _ADDRESS.fullmatch(address):
            hint = "write addresses such as ops@example.com, separated by commas"
            end = max(position + len(address), position + 1)
            raise Fault("BAD_VALUE", f"{clip(address)!r} is not a mail address", position, end, hint)
        position += len(address) + 1
    if len(addresses) > MAX_ADDRESSES:
        message = f"more than {MAX_ADDRESSES} addresses"
        raise Fault("BAD_VALUE", message, 0, len(text), "use a mailing list")
    return tuple(addresses)
