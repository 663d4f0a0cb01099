"""The patches: for each, a requirement id, a file under src/kron, a text that occurs once in it, and another text.

A patch takes away, or turns around, what the requirement asks for, and leaves code that can still be called. Texts are
short, so that they survive changes around them; where a file moves, change its name here.
"""

from __future__ import annotations

from typing import NamedTuple

ANSWER, CASE, CATCHUP = "rules/launch_result.py", "rules/state.py", "rules/catchup.py"
DECISION, DUE, ORDINARY, OVERLAP = "timing/decision.py", "rules/survey.py", "rules/fast_path.py", "rules/overlap.py"
PERIOD, PLAN, POLICY, RUN, RUN_STATE, TEND, ZONE = (
    "timing/period.py",
    "rules/plan.py",
    "timing/schedule/policy.py",
    "rules/run.py",
    "rules/run_state.py",
    "rules/expiry.py",
    "timing/zone.py",
)
CHANCE, CONSTRAINT, CRON, WINDOW = (
    "timing/schedule/sampling.py",
    "timing/schedule/constraint.py",
    "timing/schedule/cron.py",
    "timing/schedule/window.py",
)
BODIES, CLAUSES, FIELDS, GRAMMAR, MODIFIERS = (
    "language/modifier_args.py",
    "language/constraints.py",
    "language/fields.py",
    "language/grammar.py",
    "language/kron.py",
)
KRONJOB, KRONJOB_SPEC, NAMES = "launchers/kronjob.py", "apps/operator/definition.py", "kube/names.py"
CLOCKTIME, INTERVAL, MINUTES, PLACEHOLDER, POOL, SCATTER = (
    "language/sentences/clocktime.py",
    "language/sentences/interval.py",
    "language/sentences/minutes.py",
    "language/sentences/placeholder.py",
    "language/sentences/pool.py",
    "language/sentences/scatter.py",
)
EDIT, LOG, METRICS, RECORD, REGISTRAR, STORE, WORKER = (
    "rules/edit.py",
    "engine/log.py",
    "engine/metrics.py",
    "language/record.py",
    "engine/registrar.py",
    "rules/update.py",
    "engine/worker.py",
)
SQLITE_QUERIES, SQLITE_SCHEMA = "stores/sqlite/queries.sql", "stores/sqlite/schema.sql"
POSTGRES_VIEWS = "stores/postgres/migrations/0003_views.sql"
CONFIG = "apps/service/config_check.py"
DEFINITION, SHOWN = "apps/service/schemas/definition.py", "apps/service/schemas/views.py"
RECORD_FIELDS = "apps/record_fields.py"
MEMBERSHIP = "engine/membership.py"
COMMAND_LAUNCHER = "launchers/command/launcher.py"
SKIPPED_BY_OVERLAP = """Overlap.SKIP:
        draft.set_run(ended(run, State.SKIPPED, draft.now, Outcome.SKIPPED"""
CLI_WHY = "apps/cli/commands/why.py"
DECLARATIVE, ERRORS, EXPRESSION, OVERRIDES, PERSISTED, REGISTRATION = (
    "apps/declarative/scheduler.py",
    "apps/declarative/errors.py",
    "apps/declarative/expression.py",
    "apps/declarative/overrides.py",
    "apps/declarative/persisted.py",
    "apps/declarative/registration.py",
)


class Patch(NamedTuple):
    """What is taken away, and from which requirement."""

    id: str
    path: str
    old: str
    new: str


KRON_SPEC = (
    Patch("KSPEC-OUTC-ONCE", STORE, "run.key not in existing_keys and is_consistent(run)", "is_consistent(run)"),
    Patch("KSPEC-OUTC-ONCE", RUN, "before.outcome is not None and after.outcome is not before.outcome", "False"),
    Patch("KSPEC-OUTC-NOMORE", RUN, "if not before.open or before.key", "if before.key"),
    Patch("KSPEC-CLOCK-PERSIST", SQLITE_QUERIES, "SET cursor = :cursor,", "SET"),
    Patch(
        "KSPEC-CLOCK-BACK",
        ORDINARY,
        "nominal = next_nominal(schedule, cursor)",
        "nominal = next_nominal(schedule, min(cursor, now // 1000 - 1))",
    ),
    Patch("KSPEC-INV-6", CASE, " or self.policy.suspend", ""),
    Patch("KSPEC-OUT-OUTCOME", PLAN, "Outcome.UNSCHEDULABLE, Reason.CONSTRAINTS", "Outcome.MISSED, Reason.CONSTRAINTS"),
    Patch("KSPEC-OUT-OUTCOME", PLAN, "if not due.schedulable:\n", "if not due.schedulable:\n            continue\n"),
    Patch("KSPEC-SEED-CANON", RECORD, '"seed_hash": decision.seed_hash', '"seed_hash": decision.seed_hash[:16]'),
    Patch("KSPEC-SEED-CANON", LOG, '"decision": decision', '"decided": decision'),
    Patch("KSPEC-SEED-CANON", CLI_WHY, '"decision": report.decision', '"decision": {}'),
    Patch("KSPEC-TIME-RFC3339", RECORD, '"period_id": decision.period.id', '"period_id": str(decision.period.nominal)'),
    Patch("KSPEC-WIN-INCL", WINDOW, "return self.end // SECOND", "return self.end // SECOND - 1"),
    Patch("KSPEC-WIN-AROUND", WINDOW, "Bounds(nominal_ns - self.duration // 2,", "Bounds(nominal_ns - self.duration,"),
    Patch("KSPEC-SEED-DAILY", DECISION, "wall.date.text if", "rfc3339(nominal)[:10] if"),
    Patch("KSPEC-SEED-HASH", CHANCE, "{identity}\\n{period_key}\\n{self.salt}", "{identity}\\n{period_key}{self.salt}"),
    Patch("KSPEC-CON-BUDGET", DECISION, "MAX_DRAWS = 64", "MAX_DRAWS = 65"),
    Patch("KSPEC-CON-AVOID", CONSTRAINT, "            if is_satisfied:\n", "            if not is_satisfied:\n"),
    Patch(
        "KSPEC-CON-TZ",
        DECISION,
        "reading(schedule.zone.wall(t))",
        "reading(schedule.zone.wall(t - schedule.zone.spell(t)[2]))",
    ),
    Patch("KSPEC-PERIOD-PREV", PERIOD, "last_upto(cron.upto, t)", "last_upto(cron.upto, t - 1)"),
    Patch("KSPEC-DEADLINE-WITHIN", PLAN, "* MILLISECOND > policy.deadline", "* MILLISECOND >= policy.deadline"),
    Patch("KSPEC-CONC-FORBID", OVERLAP, "elif not active or overlap is Overlap.ALLOW", "elif True"),
    Patch("KSPEC-CONC-REPLACE", OVERLAP, "            draft.cancels.append(other)\n", ""),
    Patch(
        "KSPEC-CHANGE-WHAT", EDIT, "None if state.job.same_definition(job)", "None if state.identity == job.identity"
    ),
    Patch("KSPEC-SM-MONO", RUN, "after.attempt > before.attempt or _RANK", "True or _RANK"),
    Patch("KSPEC-INV-4", CATCHUP, "limit = state.policy.catchup_limit", "limit = 1_000_000"),
    Patch(
        "KSPEC-OUTC-EXECUTED",
        ANSWER,
        "state=State.ENQUEUED, outcome=Outcome.EXECUTED",
        "state=State.ENQUEUED, outcome=Outcome.SKIPPED",
    ),
    Patch(
        "KSPEC-OUTC-SKIPPED",
        OVERLAP,
        SKIPPED_BY_OVERLAP,
        SKIPPED_BY_OVERLAP.replace("Outcome.SKIPPED", "Outcome.MISSED"),
    ),
    Patch("KSPEC-OUTC-MISSED", PLAN, "Outcome.MISSED, Reason.DEADLINE", "Outcome.SKIPPED, Reason.DEADLINE"),
    Patch(
        "KSPEC-OUTC-UNSCHED", PLAN, "Outcome.UNSCHEDULABLE, Reason.CONSTRAINTS", "Outcome.MISSED, Reason.CONSTRAINTS"
    ),
    Patch("KSPEC-CONC-ALLOW", OVERLAP, "elif not active or overlap is Overlap.ALLOW", "elif not active"),
    Patch("KSPEC-TRIG-SUSPEND", CASE, " or self.policy.suspend", ""),
    Patch("KSPEC-INV-7", PLAN, "if not due.schedulable:", "if False:"),
    Patch(
        "KSPEC-CHANGE-PAST",
        EDIT,
        "min(owed, default=now // 1000 + 1) - 1)",
        "0)\n    cursor, owed = now // 1000 - 3_600, frozenset(range(now // 1000 - 3_599, now // 1000))",
    ),
    Patch("KSPEC-IDEM-DAEMON", COMMAND_LAUNCHER, "in self.journal.unended():\n", "in ():\n"),
    Patch("KSPEC-DIST-DEFAULTS", CHANCE, "return 1 / 6 if self.sigma", "return 1 / 5 if self.sigma"),
)
KRON_SYNTAX = (
    Patch("KSYN-CRON-DOW", GRAMMAR, 'Kind("weekday", 0, 6, DAY_NAMES)', 'Kind("weekday", 0, 7, DAY_NAMES)'),
    Patch("KSYN-CRON-RANGESTEP", FIELDS, "range(low, high + 1, stride)", "range(low, high, stride)"),
    Patch("KSYN-GRAM-UNKNOWN", GRAMMAR, 'MODIFIERS = ("tz",', 'MODIFIERS = ("tz", "foo",'),
    Patch("KSYN-DIST-SKEW", BODIES, "not 0 < float(text)", "not -9 < float(text)"),
    Patch("KSYN-DIST-SKEW-DIR", CHANCE, "return float(u**self.shape)", "return float(u)"),
    Patch("KSYN-POL-SUSPEND", BODIES, 'return text == "true"', "return False"),
    Patch("KSYN-VAL-CRON", MODIFIERS, "if not possible(cron):", "if False:"),
    Patch("KSYN-CON-BETWEEN", CLAUSES, "int(clock[1]) > 23", "int(clock[1]) > 24"),
    Patch("KSYN-TZ-DEFAULT", "language/reading.py", 'zone: str = "UTC"', 'zone: str = "Asia/Tokyo"'),
)
SERVICE = (
    Patch(
        "SVC-RUN-FK",
        SQLITE_SCHEMA,
        "schedule_id     TEXT    NOT NULL REFERENCES schedules",
        "schedule_id     TEXT    NOT NULL",
    ),
    Patch("SVC-RUN-RUNAT", SHOWN, "run_at=rfc3339(run.nominal)", "run_at=rfc3339_ms(run.due)"),
    Patch("SVC-TICK-CATCHUP", PLAN, "if policy.catchup is Catchup.SPREAD:", "if False:"),
    Patch("SVC-TICK-CATCHUP", PLAN, "if state.policy.catchup is Catchup.NONE:", "if False:"),
    Patch("SVC-TICK-CATCHUP", CATCHUP, "state.policy.catchup in _OLDEST_FIRST_POLICIES and not", "False and not"),
    Patch("SVC-PC-INFLIGHT", RUN_STATE, "State.ENQUEUED, State.STARTED})  #", "State.ENQUEUED})  #"),
    Patch("SVC-PC-INFLIGHT", RUN_STATE, "State.ENQUEUED, State.STARTED})  #", "State.STARTED})  #"),
    Patch("SVC-SEC-VALIDATE", DEFINITION, "if config.allowed_timezones and", "if False and"),
    Patch("SVC-SEC-VALIDATE", GRAMMAR, 'MINUTE = Kind("minute", 0, 59)', 'MINUTE = Kind("minute", 0, 61)'),
    Patch("SVC-SEC-BOUND", CONFIG, "MAX_LOOKAHEAD_MS = 3_600_000", "MAX_LOOKAHEAD_MS = 3_600_000_000"),
    Patch(
        "SVC-SEC-BOUND",
        CATCHUP,
        "scan_due(state, state.cursor, now, limit)",
        "scan_due(state, state.cursor, now, MAX_PERIODS_PER_PASS)",
    ),
    Patch(
        "SVC-DM-NEXT",
        RECORD_FIELDS,
        "else rfc3339(nominal)",
        "else rfc3339(nominal + state.job.schedule.zone.spell(nominal)[2])",
    ),
    Patch("SVC-DEPLOY-LEADER", MEMBERSHIP, "if leads else ()", "if kinds else ()"),
    Patch(
        "SVC-PC-LEADER",
        WORKER,
        "if not shares:\n            return Pass([], began, now, settings.tick)",
        "if not shares:\n            return Pass([], began, now, 0)",
    ),
    Patch("SVC-DM-END", DUE, "(end is None or nominal <= end)", "True"),
    Patch(
        "SVC-RUN-KEY",
        "timing/key.py",
        'f"{identity}:{nominal}" if not trigger',
        'f"{identity}/{nominal}" if not trigger',
    ),
    Patch("SVC-OVERLAP-QUEUE", OVERLAP, "> draft.state.policy.queue_limit", ">= 0"),
    Patch("SVC-JITTER-UNIFORM", "timing/due.py", "1) * (2 * max_jitter + 1)", "1) * (max_jitter + 1)"),
    Patch("SVC-MET-SKIPPED", METRICS, '+= reason == "overlap"', '+= reason == "deadline"'),
    Patch("SVC-RETRY-LAUNCH", POLICY, "launch_for: int = 10 * MINUTE", "launch_for: int = MINUTE"),
    Patch(
        "SVC-PC-ENUM",
        DUE,
        "next_nominal(state.job.schedule, nominal)",
        "next_nominal(state.job.schedule, nominal + 900)",
    ),
    Patch("SVC-API-DELETE", EDIT, "state._replace(deleted=True, ", "state._replace("),
)
FUZZY = (
    Patch("FUZZY-2.1-IMPL", POOL, 'Tier("BEST", 3,', 'Tier("BEST", 4,'),
    Patch("FUZZY-7.3-STEPS", SCATTER, "    github.read(line)\n", ""),
    Patch("FUZZY-7.3-STEPS", PLACEHOLDER, "number not in HOURS for", "number > 23 for"),
    Patch("FUZZY-3.4.2-PLACEHOLDER", PLACEHOLDER, "f':{every}' if every", "f':{min(every, 2)}' if every"),
    Patch("FUZZY-6.2.1-FNV", SCATTER, "PRIME = 16_777_619", "PRIME = 16_777_621"),
    Patch("FUZZY-3.6-MINUTES", INTERVAL, "number < MIN_INTERVAL_MINUTES", "number < 2"),
    Patch("FUZZY-5.3-IST", CLOCKTIME, '"ist": 330', '"ist": 300'),
    Patch("FUZZY-3.2.3-EX2", PLACEHOLDER, 'Between: "_BETWEEN"', 'Between: "_RANGE"'),
    Patch("FUZZY-3.3.3-EX", PLACEHOLDER, '{Around: "_AROUND"', '{Around: "_NEAR"'),
    Patch("FUZZY-6.3.4-HOURLYN", SCATTER, 'f"*/{every}" if every', 'f"*/{every + 1}" if every'),
    Patch("FUZZY-R-SAFE-002", SCATTER, "return seed % window", "return (seed + id(object())) % window"),
)
DECLARATIVE_DOCUMENT = (
    Patch("DECL-REG-DELAY", REGISTRATION, "if delay < timedelta(0):", "if False:"),
    Patch("DECL-REG-NAME", REGISTRATION, "if name in tasks:", "if False:"),
    Patch("DECL-ERR-ACTIVE", DECLARATIVE, "if self._state not in _IDLE:", "if False:"),
    Patch("DECL-ERR-DUP", ERRORS, 'is already scheduled\', {"taskName": name}', "is already scheduled', {}"),
    Patch(
        "DECL-CRON-OR",
        CRON,
        "(by_date | by_weekday >> _FIRST_WEEKDAY[month]) >> day_index",
        "(by_date & by_weekday >> _FIRST_WEEKDAY[month]) >> day_index",
    ),
    Patch("DECL-TASK-RETRY", ANSWER, "now + retry_delay(run, policy, policy.retry_after // MILLISECOND)", "now"),
    Patch("DECL-CRON-REJECT-WRAP", FIELDS, "    if low > high:\n", "    if low > high and kind.high == 31:\n"),
)
KUBERNETES = (
    Patch("KSPEC-IDEM-K8S", KRONJOB, "job is None or mark_of(job) == mark_of(body)", "True"),
    Patch("KSPEC-IDEM-K8S", KRONJOB, 'failure.reason == "AlreadyExists"', "False"),
    Patch("KSPEC-IDEM-K8S", NAMES, "PERIOD_ID: period_id,", 'PERIOD_ID: "",'),
    Patch("KSYN-SCOPE-CRD", KRONJOB_SPEC, '"window_duration": window.get("duration"),', '"window_duration": None,'),
    Patch("KSYN-SCOPE-CRD", KRONJOB_SPEC, '";".join(value)', "value[0]"),
)
PATCHES = (*KRON_SPEC, *KUBERNETES, *KRON_SYNTAX, *SERVICE, *FUZZY, *DECLARATIVE_DOCUMENT)
