"""Settings of the Celery integration: `kron_store`, `kron_name` and `kron_catchup` of the Celery application."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from kron.apps.declarative.host import local_zone
from kron.apps.wiring import check_url
from kron.errors import InvalidSetting
from kron.timing.schedule.policy import Catchup

STORE_VARIABLE = "KRON_STORE"  # environment variable: the store, where `kron_store` is not set
CATCHUP_NAMES = (Catchup.ALL, Catchup.SPREAD, Catchup.LATEST, Catchup.NONE)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)
_UNNAMED = (None, "", "__main__")  # an application without a name of its own


@dataclass(frozen=True, slots=True)
class BeatSettings:
    """Settings of one Celery application.

    Attributes:
        store: Store URL.
        name: Name of the application. Only the beats of one name share the work.
        zone: Name of the time zone in which crontabs are evaluated.
        catchup: What happens to the periods that fell due while no beat was running.
        crontab_deadline: Seconds after which a late period of a crontab no longer runs; None for no limit.
    """

    store: str
    name: str
    zone: str
    catchup: Catchup
    crontab_deadline: int | None

    @property
    def prefix(self) -> str:
        """Beginning of the names of the jobs that belong to this application."""
        return f"celery/{self.name}/"

    @property
    def scheme(self) -> str:
        """Scheme of the targets: only a beat of the same application can publish its tasks."""
        return f"celery+{self.name.lower()}"


def settings_of(app: Any) -> BeatSettings:
    """Return the settings of a Celery application.

    Raises:
        InvalidSetting: A setting is missing or invalid.
    """
    deadline: int | None = app.conf.beat_cron_starting_deadline
    return BeatSettings(store_of(app), _name_of(app), _zone_name(app.timezone), _catchup_of(app), deadline)


def store_of(app: Any) -> str:
    """Return the store URL of a Celery application."""
    url = app.conf.get("kron_store") or os.environ.get(STORE_VARIABLE)
    if not url:
        hint = f'set app.conf.kron_store = "postgresql://host/database", or the environment variable {STORE_VARIABLE}'
        raise InvalidSetting("UNKNOWN_STORE", "the Celery application has no kron_store", hint=hint)
    if check_url(url).startswith("memory:"):
        message = "kron_store cannot be memory:, because beats cannot share it"
        hint = "use postgresql://host/database, or sqlite:PATH on one host"
        raise InvalidSetting("UNKNOWN_STORE", message, hint=hint)
    return str(url)


def _name_of(app: Any) -> str:
    name = app.conf.get("kron_name") or ("celery" if app.main in _UNNAMED else app.main)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        message = f"kron_name cannot be {name!r}"
        raise InvalidSetting("CONFIG", message, hint='use letters, digits and . _ -: app.conf.kron_name = "shop"')
    return name


def _catchup_of(app: Any) -> Catchup:
    value = app.conf.get("kron_catchup") or Catchup.ALL
    if value not in CATCHUP_NAMES:
        raise InvalidSetting("CONFIG", f"kron_catchup cannot be {value!r}", hint=f"use {', '.join(CATCHUP_NAMES)}")
    return Catchup(value)


def _zone_name(zone: tzinfo) -> str:
    """Return the name of the time zone of a Celery application: a zone of the tz database, or that of this host."""
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)  # zoneinfo, pytz
    if isinstance(name, str):
        return name
    return "UTC" if str(zone) == "UTC" else local_zone()
