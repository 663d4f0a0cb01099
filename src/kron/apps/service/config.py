"""Settings of `kron serve` and `kron worker`: from a TOML file, the environment and flags; the later source wins."""

from __future__ import annotations

from dataclasses import dataclass, field

DASHBOARD_PATH = "/ui"
UNLIMITED_LEASE_MS = 100 * 365 * 86_400_000  # a lease of 100 years


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of a process. Times are in milliseconds. The environment and flags separate list items by commas."""

    tick_ms: int = 1_000
    lookahead_ms: int = 60_000
    max_catchup_per_tick: int = 100
    default_overlap_policy: str = "skip"
    default_catchup_policy: str = "none"
    default_jitter_ms: int = 0
    misfire_grace_ms: int = 60_000  # a launch within it is on time; must exceed the shard lease
    run_lease_ms: int = 3_600_000  # 0: no limit
    cron_seconds_position: str = "first"

    store: str = "memory:"
    listen: str = "127.0.0.1:8080"
    tls_certificate: str = ""  # PEM file; enables TLS
    tls_key: str = ""
    tls_client_ca: str = ""  # clients must then present a certificate of this authority
    tls_client_allowed_names: tuple[str, ...] = ()  # and the certificate must have one of these names
    trusted_proxies: tuple[str, ...] = ()  # networks whose X-Forwarded-For is trusted
    public_url: str = ""  # URL at which webhook receivers reach this service to report
    run_worker: bool = True  # whether this process also runs a worker
    max_concurrent_launches: int = 100  # concurrent launches; if as many receivers hang, other launches wait
    target_limits: tuple[str, ...] = ()  # HOST=CONCURRENT,RATE/s, for all workers together
    breaker_failures: int = 10  # failed launches in a row, after which a worker holds a target; 0: never
    breaker_hold_ms: int = 10_000  # length of the first hold
    breaker_max_hold_ms: int = 60_000  # longest hold
    batch: int = 500  # schedules read in one pass
    shard_lease_ms: int = 15_000  # how long a crashed worker keeps its shards
    retention_days: int = 90  # how long records of finished runs are kept; 0: permanently
    max_clock_skew_ms: int = 5_000  # maximum clock skew between the host and the store
    leader_election: bool = False  # one worker at a time is active; the others stand by
    command_journal: str = ""  # folder of the command journal: this worker runs host commands
    kubernetes: bool = False  # this worker creates Kubernetes Jobs
    log_events: bool = True  # write a log to stderr
    log_format: str = "auto"  # auto: text on a terminal, JSON lines elsewhere
    log_level: str = "info"
    audit_log: str = ""  # file that receives a line for every change

    ui: bool | None = None  # whether the dashboard is served at /ui; None: with auth none, or with a login
    ui_url: str = ""  # URL of the dashboard for browsers: https://HOST/ui
    ui_issuer: str = ""  # OpenID Connect provider at which people sign in
    ui_client_id: str = ""
    ui_client_secret: str = field(default="", repr=False)  # empty: a public client, which PKCE protects
    ui_session_key: str = field(default="", repr=False)  # whsec_…; seals the sessions; several during a rotation
    ui_scopes: tuple[str, ...] = ("openid", "profile", "email")  # requested from the provider
    ui_name_claim: str = "sub"  # claim of the ID token with the name that actions record
    ui_role_claim: str = "scope"  # claim of the ID token with the values that give a role
    ui_viewer_values: tuple[str, ...] = ("schedules:read",)  # all of them make a viewer
    ui_operator_values: tuple[str, ...] = ("schedules:read", "schedules:write", "schedules:run")  # an operator
    auth: str = "jwt"  # jwt, or none (on a loopback address only)
    jwks: str = ""  # keys of the issuer: a file, or an https URL
    issuer: str = ""
    audience: str = "kron"
    max_token_lifetime_ms: int = 3_600_000  # maximum lifetime of a token
    tenant_claim: str = ""  # empty: all callers are one tenant

    max_schedules_per_tenant: int = 10_000
    max_triggers_per_minute: int = 1_000  # as many as one backfill can request
    min_interval_ms: int = 1_000
    allowed_timezones: tuple[str, ...] = ()  # empty: every time zone of the tz database

    webhook_secret: str = field(default="", repr=False)  # whsec_…; several during a rotation
    report_secret: str = field(default="", repr=False)  # whsec_…; signs the report tokens
    webhook_allow_plain_http: bool = False  # whether targets without TLS are allowed
    webhook_allowed_networks: tuple[str, ...] = ()  # non-public networks that may be called nevertheless
    workflow_store: str = ""  # folder of the workflow store, or store: for a table next to the schedules in PostgreSQL
    executor_url: str = ""  # URL of the executor that runs workflows

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to listen on."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def has_dashboard(self) -> bool:
        """Whether the dashboard is served. It needs a login, or a service that needs no token."""
        is_open = self.auth == "none"
        return (is_open or bool(self.ui_issuer)) if self.ui is None else self.ui
