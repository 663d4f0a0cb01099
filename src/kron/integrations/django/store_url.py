"""Store URL of a Django project: that of its default database, if it is PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from django.db import connections

from kron.errors import InvalidSetting

PASSED_ON = ("sslmode", "sslrootcert", "sslcert", "sslkey", "passfile", "service", "connect_timeout")  # of OPTIONS


def default_store() -> str:
    """Return the URL of `DATABASES["default"]`.

    Raises:
        InvalidSetting: The default database is not PostgreSQL.
    """
    database = connections["default"]
    if database.vendor != "postgresql":
        message = f'no store is configured, and DATABASES["default"] is {database.display_name}, not PostgreSQL'
        hint = (
            'add to the settings: KRON = {"STORE": "postgresql://user@host/database"}, or "sqlite:jobs.db" for one host'
        )
        raise InvalidSetting("CONFIG", message, hint=hint)
    return url_of(database.settings_dict)


def url_of(database: Mapping[str, Any]) -> str:
    """Return the URL of one entry of `DATABASES`. What the entry leaves open, libpq decides."""
    user, password = (quote(str(database.get(name) or ""), safe="") for name in ("USER", "PASSWORD"))
    credentials = f"{user}:{password}" if password else user
    options = database.get("OPTIONS") or {}
    places = {"host": database.get("HOST"), "port": database.get("PORT")}  # a host can be a folder or an IPv6 address
    parameters = {**places, **{name: options.get(name) for name in PASSED_ON}}
    query = urlencode({name: str(value) for name, value in parameters.items() if value not in (None, "")})
    location = f"{credentials}@" if credentials else ""
    return f"postgresql://{location}/{quote(str(database.get('NAME') or ''), safe='')}" + (f"?{query}" if query else "")
