"""Variables of a crontab, which apply to the lines below them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kron.errors import clip
from kron.language.crontabs.line import Variable
from kron.language.fault import Fault
from kron.language.modifier_args import read_zone
from kron.language.notification_form import read_mailto
from kron.timing.zone import Zone

MAX_DELAY = 24 * 60  # minutes
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"[0-9]{1,4}")
_NO_SENDER = "MAILFROM={value} applies to the lines below. krond leaves the sender of a mail to sendmail."
_NO_ADDRESS = "MAILTO={value} is not a list of mail addresses, so the lines below send no mail."
_NO_OUTPUT = (
    "cron discards the output of the lines below, because MAILTO is empty. krond sends no mail, and keeps the output "
    "of the last runs."
)
_CRON_TZ = (
    "CRON_TZ is a variable of cronie: the lines below are imported in this zone. Debian's cron ignores it, and uses "
    "the time zone of the host. If these lines come from Debian's cron, remove CRON_TZ and import them again."
)
_LOGNAME = "cron sets LOGNAME itself, to the user of the job. This line has no effect."
_SHELL = "SHELL is not an absolute path, so the lines below use /bin/sh."
_HOME = "HOME is not an absolute path, so it is set as a variable only."


@dataclass(slots=True)
class Variables:
    """Variables that are set so far, and what they mean for a job.

    Attributes:
        host_zone: Time zone of the host.
        values: Variables of the environment, by name.
        zone_override: Time zone of CRON_TZ.
        shell: Shell of SHELL; None for the default.
        cwd: Directory of HOME; None for the home directory of the user.
        delay: Minutes of RANDOM_DELAY.
        notify: Mail of MAILTO, as the notification of a command; empty for none.
    """

    host_zone: Zone
    values: dict[str, str] = field(default_factory=dict)
    zone_override: Zone | None = None
    shell: str | None = None
    cwd: str | None = None
    delay: int = 0
    notify: tuple[tuple[str, str], ...] = ()

    @property
    def zone(self) -> Zone:
        """Time zone of the lines below."""
        return self.zone_override or self.host_zone

    @property
    def env(self) -> tuple[tuple[str, str], ...]:
        """Environment of the lines below."""
        return tuple(self.values.items())

    def set(self, variable: Variable) -> str:
        """Set a variable. Returns a note; empty if there is nothing to say.

        Raises:
            Fault: The variable cannot be expressed in a krontab file.
        """
        name, value, start = variable
        setter = _SETTERS.get(name)
        if setter:
            return setter(self, variable)
        if not _NAME.fullmatch(name):
            hint = "use letters, digits and _ in the name"
            raise Fault("BAD_VALUE", f"{clip(name)!r} is not a valid variable name", 0, max(start, 1), hint)
        self.values[name] = value
        return ""

    def _set_shell(self, variable: Variable) -> str:
        is_path = variable.value.startswith("/")
        self.shell = variable.value if is_path else None
        return "" if is_path else _SHELL

    def _set_home(self, variable: Variable) -> str:
        is_path = variable.value.startswith("/")
        self.values["HOME"] = variable.value
        self.cwd = variable.value if is_path else None
        return "" if is_path else _HOME

    def _set_zone(self, variable: Variable) -> str:
        name = variable.value.removeprefix(":")
        try:
            self.zone_override = read_zone(name) if name else None
        except Fault as fault:
            raise fault.moved(variable.start + len(variable.value) - len(name)) from None
        return _CRON_TZ

    def _set_delay(self, variable: Variable) -> str:
        text, start = variable.value, variable.start
        if not _NUMBER.fullmatch(text) or int(text) > MAX_DELAY:
            message = f"RANDOM_DELAY {clip(text)!r} is not a number of minutes from 0 to {MAX_DELAY}"
            raise Fault("BAD_VALUE", message, start, start + max(len(text), 1), "write a number such as 45")
        self.delay = int(text)
        return "RANDOM_DELAY is a variable of cronie. Debian's cron ignores it."

    def _set_mailto(self, variable: Variable) -> str:
        self.notify = ()
        if not variable.value:
            return _NO_OUTPUT
        try:
            self.notify = (read_mailto(",".join(map(str.strip, variable.value.split(",")))),)
        except Fault:
            return _NO_ADDRESS.format(value=variable.value)
        return ""

    def _note_sender(self, variable: Variable) -> str:
        return _NO_SENDER.format(value=variable.value)

    def _note_logname(self, variable: Variable) -> str:
        return _LOGNAME


_SETTERS = {
    "SHELL": Variables._set_shell,
    "HOME": Variables._set_home,
    "CRON_TZ": Variables._set_zone,
    "RANDOM_DELAY": Variables._set_delay,
    "MAILTO": Variables._set_mailto,
    "MAILFROM": Variables._note_sender,
    "LOGNAME": Variables._note_logname,
}
