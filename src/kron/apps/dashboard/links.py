"""Links: addresses of pages and files, under the path of the mount, and names of schedules in them."""

from __future__ import annotations

from urllib.parse import quote, unquote, urlencode

from starlette.requests import Request

from kron.apps.dashboard.static_files import digest_of_files
from kron.errors import NotFound


class Links:
    """Addresses and names of one request.

    Attributes:
        request: The request.
        tenant: The tenant whose schedules the page shows; empty if the store has none.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.tenant: str = request.path_params.get("tenant", "")

    @property
    def prefix(self) -> str:
        """Prefix of all identities of the tenant, also the scope of its overview."""
        return f"{self.tenant}/" if self.tenant else ""

    @property
    def named_identity(self) -> str:
        """Identity of the schedule that the address names. A slash in it is written as %2F twice encoded."""
        name = unquote(self.request.path_params["name"])
        if "\0" in name:
            raise NotFound("NOT_FOUND", "there is no such schedule", hint="use the links of the pages")
        return self.identity(name)

    def identity(self, name: str) -> str:
        """Return the identity of a schedule by the name that pages show."""
        return self.prefix + name

    def name(self, identity: str) -> str:
        """Return the name of a schedule as pages show it, without the tenant."""
        return identity.removeprefix(self.prefix)

    def link(self, path: str = "", **query: str | int) -> str:
        """Return the address of a page of this dashboard, under the path where it is mounted."""
        tenant = f"/t/{quote(self.tenant, safe='')}" if self.tenant else ""
        values = {name: value for name, value in query.items() if value != ""}
        return f"{self._root}{tenant}/{path}" + (f"?{urlencode(values)}" if values else "")

    def root_link(self, path: str, **query: str) -> str:
        """Return the address of a page that all tenants share, such as that of the login."""
        values = {name: value for name, value in query.items() if value}
        return f"{self._root}/{path}" + (f"?{urlencode(values)}" if values else "")

    def tenant_link(self, tenant: str) -> str:
        """Return the address of the overview of a tenant."""
        return f"{self._root}/t/{quote(tenant, safe='')}/"

    @property
    def here(self) -> str:
        """Address of the page of this request, with its query; that of the dashboard for a form."""
        if self.request.method != "GET":
            return f"{self._root}/"
        path: bytes = self.request.scope.get("raw_path", b"")
        query: bytes = self.request.scope["query_string"]
        return (path.partition(b"?")[0] + (b"?" + query if query else b"")).decode("latin-1")

    def schedule_link(self, identity: str, page: str = "", **query: str | int) -> str:
        """Return the address of the page of a schedule."""
        name = quote(self.name(identity), safe="").replace("%", "%25")  # twice, because servers decode slashes once
        return self.link(f"schedules/{name}{page}", **query)

    def file(self, name: str) -> str:
        """Return the address of a static file."""
        return f"{self._root}/static/{digest_of_files()}/{name}"

    @property
    def _root(self) -> str:
        return str(self.request.scope.get("root_path", "")).rstrip("/")
