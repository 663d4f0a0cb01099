"""Doors: the interfaces that take schedule texts, and how their users name a dialect and a time zone in them."""

from __future__ import annotations

from dataclasses import dataclass

from kron.language.dialect import Dialect


@dataclass(frozen=True, slots=True)
class Door:
    """Interface that takes schedule texts. Each phrase is an action for a hint; `{}` is the value.

    Attributes:
        dialect: How to select a dialect.
        zone: How to give a time zone separately; empty if the text must name it.
        identity: How to name an identity, without the verb; empty if the interface always has one.
        joint: Text between the dialect and the identity in one action.
        modifiers: Whether a text can have modifiers such as @tz. Otherwise they are fields of their own.
    """

    dialect: str
    zone: str
    identity: str = ""
    joint: str = " and "
    modifiers: bool = True

    def selecting(self, dialect: Dialect, identity: str, *, current: str = "") -> str:
        """Return the action that selects a dialect; empty if it is the current one, and has the identity it needs."""
        missing = self.identity if dialect.needs_identity and not identity else ""
        if dialect.name == current:
            return f"{self.dialect.partition(' ')[0]} {missing}" if missing else ""
        return self.dialect.format(dialect.name) + (self.joint + missing if missing else "")

    def placing(self, zone: str) -> str:
        """Return the action that gives a time zone separately; empty if there is none."""
        return self.zone.format(zone)


PYTHON = Door('pass dialect="{}"', 'pass timezone="{}"', 'identity="NAME"')
DECORATOR = Door('use @s.job(..., dialect="{}")', 'pass timezone="{}"')  # of a job, which has an identity
COMMAND_LINE = Door("add --dialect {}", "add --timezone {}", "--identity NAME", " ")
CALL = Door('pass dialect="{}"', 'pass timezone="{}"')  # of a job that a call creates, which has an identity
# The HTTP API; krontab lines; jobs as named fields, such as the lines of `kron load`.
HTTP = Door('set "dialect" to "{}"', 'set "timezone" to "{}"')
FILE = Door('begin the schedule with "{}: "', "")
FORM = Door('begin the schedule with "{}: "', 'set "timezone" to "{}"', modifiers=False)
PAGE = Door("choose the dialect {}", "choose the zone {}")  # the form of the dashboard, which has an identity
