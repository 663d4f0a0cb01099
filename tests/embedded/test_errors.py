"""Every error of the document: its class, its message and its details."""

import asyncio
import pickle
from datetime import timedelta

import pytest

from kron import DeclarativeScheduler
from kron.apps.declarative import errors
from kron.apps.declarative.errors import (
    CronCalculationError,
    CronExpressionInvalidError,
    FieldParseError,
    InvalidCronExpressionError,
    InvalidRegistrationError,
    NegativeRetryDelayError,
    RegistrationShapeError,
    RegistrationsNotArrayError,
    ScheduleDuplicateTaskError,
    SchedulerAlreadyActiveError,
    SchedulerError,
    TaskInvalidStructureError,
    TaskInvalidTypeError,
    TaskInvalidValueError,
    TaskMissingFieldError,
    TaskTryDeserializeError,
)
from kron.apps.declarative.expression import next_occurrence, read_expression
from kron.engine.events import Memory
from kron.testing import FaultyStore, ReliableNetwork
from kron.timing.zone import instant_of
from tests.embedded.stage import play

SECOND = timedelta(seconds=1)
SHAPE = "Invalid registration shape: expected [string, string, function, Duration]"


async def ok():
    pass


def refused(registrations):
    """The error of a list, and what else could be observed."""
    heard, found = Memory(), []

    async def script():
        scheduler = DeclarativeScheduler("memory:", timezone="UTC", on_event=heard)
        with pytest.raises(SchedulerError) as caught:
            scheduler.initialize(registrations)  # not awaited: the call itself raises
        found.append(caught.value)
        assert scheduler._place.cases == {}
        assert [event.name for event in heard.events] == [
            "SchedulerInitializationStarted",
            "SchedulerInitializationFailed",
        ]
        await scheduler.initialize([])  # and it is as new
        await scheduler.stop()

    asyncio.run(script())
    return found[0]


def golden(error, kind, message, details):
    assert type(error) is kind
    assert str(error) == error.message == message
    assert {key: value for key, value in error.details.items() if key != "cause"} == details


@pytest.mark.req("DECL-ERR-NOTARRAY", "DECL-ERR-SYNC", "DECL-ERR-NAMES", "DECL-LC-I2U")
@pytest.mark.parametrize("registrations", [None, "a", 7, {}, {"a": 1}, iter([])])
def test_registrations_are_a_list(registrations):
    golden(refused(registrations), RegistrationsNotArrayError, "Registrations must be an array", {})


BAD_SHAPES = [
    (),
    ("a", "* * * * *", ok),
    ("a", "* * * * *", ok, SECOND, 1),
    (1, "* * * * *", ok, SECOND),
    (None, "* * * * *", ok, SECOND),
    ("a", 5, ok, SECOND),
    ("a", "* * * * *", "ok", SECOND),
    ("a", "* * * * *", None, SECOND),
    ("a", "* * * * *", ok, 5),
    ("a", "* * * * *", ok, "5s"),
    "abcd",
    None,
    {"name": "a"},
]


@pytest.mark.req("DECL-ERR-SHAPE", "DECL-REG-TUPLE", "DECL-REG-CALLBACK", "DECL-ERR-SYNC")
@pytest.mark.parametrize("bad", BAD_SHAPES, ids=range(len(BAD_SHAPES)))
def test_a_registration_is_four_values_of_the_right_kinds(bad):
    error = refused([("good", "* * * * *", ok, SECOND), bad])
    golden(error, RegistrationShapeError, SHAPE, {"registrationIndex": 1, "received": bad})


@pytest.mark.req("DECL-ERR-INVALID", "DECL-REG-NAME")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "must not be empty"),
        ("a\0b", "has a character that cannot be stored"),
        ("\ud800", "has a character that cannot be stored"),
        ("x" * 70_000, "is too long"),
    ],
    ids=["empty", "nul", "surrogate", "long"],
)
def test_a_name_says_something(name, reason):
    error = refused([(name, "* * * * *", ok, SECOND)])
    details = {"field": "name", "value": name, "reason": reason}
    golden(error, InvalidRegistrationError, f"Invalid registration: name {reason}", details)


@pytest.mark.req("DECL-ERR-DUP", "DECL-REG-NAME")
def test_a_name_is_given_once():
    error = refused([("a", "* * * * *", ok, SECOND), ("b", "* * * * *", ok, SECOND), ("a", "0 * * * *", ok, SECOND)])
    golden(error, ScheduleDuplicateTaskError, 'Task with name "a" is already scheduled', {"taskName": "a"})


CRON = [
    ("*/15 * * * *", "minute", "has a step, which strict POSIX cron does not support"),
    ("0-30/5 * * * *", "minute", "has a step, which strict POSIX cron does not support"),
    ("0 0 * * mon", "weekday", "has the name mon, which strict POSIX cron does not support"),
    ("0 0 * jan *", "month", "has the name jan, which strict POSIX cron does not support"),
    ("@daily", "expression", "macro '@daily' is not supported by the posix dialect"),
    ("0 0 ? * *", "day", "has the Quartz token ?"),
    ("0 0 L * *", "day", "has the Quartz token L"),
    ("0 0 * * 5#2", "weekday", "has the Quartz token 5#2"),
    ("0 0 * * 7", "weekday", "value 7 is out of range (0-6)"),
    ("0 22-2 * * *", "hour", "range 22-2 is reversed"),
    ("60 * * * *", "minute", "value 60 is out of range (0-59)"),
    ("0 24 * * *", "hour", "value 24 is out of range (0-23)"),
    ("0 0 0 * *", "day", "value 0 is out of range (1-31)"),
    ("0 0 * 13 *", "month", "value 13 is out of range (1-12)"),
    ("1e1 * * * *", "minute", "value '1e1' is not a whole decimal number"),
    ("+5 * * * *", "minute", "value '+5' is not a whole decimal number"),
    ("*,5 * * * *", "minute", "has * in a list"),
    ("* * * *", "expression", "has 4 fields"),
    ("* * * * * *", "expression", "has 6 fields"),
    ("", "expression", "has 0 fields"),
]


@pytest.mark.req("DECL-ERR-CRON", "DECL-ERR-CRONPARSE", "DECL-ERR-FIELD", "DECL-REG-CRON", "DECL-ERR-NAMES")
@pytest.mark.parametrize(("expression", "field", "reason"), CRON)
def test_an_expression_is_strict_posix(expression, field, reason):
    error = refused([("a", expression, ok, SECOND)])
    message = f'Invalid cron expression "{expression}": {field} field {reason}'
    details = {"expression": expression, "field": field, "reason": reason}
    golden(error, CronExpressionInvalidError, message, details)

    with pytest.raises(InvalidCronExpressionError) as caught:  # what the expression module itself says
        read_expression(expression, "UTC")
    golden(caught.value, InvalidCronExpressionError, message, details)
    assert type(error.details["cause"]) is InvalidCronExpressionError

    if field != "expression":
        value = expression.split()[("minute", "hour", "day", "month", "weekday").index(field)]
        of_field = caught.value.details["cause"]
        golden(of_field, FieldParseError, f"{field} field {reason}", {"fieldValue": value, "fieldName": field})


@pytest.mark.req("DECL-ERR-NEGDELAY", "DECL-REG-DELAY")
def test_a_delay_is_not_negative():
    error = refused([("a", "* * * * *", ok, timedelta(milliseconds=-1500))])
    golden(error, NegativeRetryDelayError, "Retry delay must be non-negative", {"retryDelayMs": -1500})


@pytest.mark.req("DECL-ERR-CALC")
@pytest.mark.parametrize("expression", ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 2,4,6,9,11 *"])
def test_a_day_that_no_month_has_is_refused(expression):
    error = refused([("a", expression, ok, SECOND)])
    reason = "never occurs: no month has such a day"
    message = f'Invalid cron expression "{expression}": day field {reason}'
    golden(error, CronExpressionInvalidError, message, {"expression": expression, "field": "day", "reason": reason})
    assert type(error.details["cause"]) is CronCalculationError

    with pytest.raises(CronCalculationError) as caught:
        next_occurrence(read_expression(expression, "UTC"), expression, instant_of("2026-03-01T00:00:00Z"))
    cause = caught.value.details["cause"]
    details = {"expression": expression, "currentTime": "2026-03-01T00:00:00Z"}
    golden(caught.value, CronCalculationError, f"Failed to calculate next occurrence: {cause}", details)
    assert isinstance(cause, Exception)


def test_a_29th_of_february_is_not_refused():
    assert next_occurrence(read_expression("0 0 29 2 *", "UTC"), "", instant_of("2096-03-01T00:00:00Z")) > 0


def test_what_is_wrong_first_is_said_first():
    bad_everywhere = ("", "x", ok, -SECOND)
    assert type(refused([bad_everywhere])) is InvalidRegistrationError
    assert type(refused([("a", "x", ok, -SECOND)])) is CronExpressionInvalidError
    assert type(refused([("a", "* * * * *", ok, SECOND), ("a", "x", ok, -SECOND)])) is ScheduleDuplicateTaskError


@pytest.mark.req("DECL-ERR-ACTIVE", "DECL-LC-I2I", "DECL-LC-R2R", "DECL-LC-SYNC", "DECL-REENT-INIT")
def test_who_is_active_is_not_initialized_again():
    async def script(stage):
        scheduler = stage.scheduler()
        first = scheduler.initialize([stage.task("a", "0 0 * * *")])
        before = list(stage.events())
        for _ in range(2):
            with pytest.raises(SchedulerAlreadyActiveError) as caught:
                scheduler.initialize([])
            message = "Cannot initialize scheduler: scheduler is already initializing"
            golden(caught.value, SchedulerAlreadyActiveError, message, {"currentState": "initializing"})
        assert stage.events() == before  # and nothing was said
        await first
        before = list(stage.events())
        with pytest.raises(SchedulerAlreadyActiveError) as caught:
            scheduler.initialize("not even a list")
        message = "Cannot initialize scheduler: scheduler is already running"
        golden(caught.value, SchedulerAlreadyActiveError, message, {"currentState": "running"})
        assert stage.events() == before
        await scheduler.stop()

    play(script)


class Broken(ReliableNetwork):
    """A road on which a call breaks down."""

    def __init__(self, call):
        self.call = call

    async def request(self, call):
        if call == self.call:
            raise ConnectionError("password=hunter2 host=db")


@pytest.mark.req("DECL-ERR-WRAP", "DECL-ERR-SAFE", "DECL-IDEM-PARTIAL", "DECL-LC-I2U")
@pytest.mark.parametrize("call", ["identities", "get", "commit", "now"])
def test_an_unexpected_error_is_wrapped(call):
    async def script(stage):
        await _started_once(stage)
        before = dict(stage.store.cases)
        broken = stage.scheduler(store=FaultyStore(stage.store, Broken(call)))
        with pytest.raises(SchedulerError) as caught:
            await broken.initialize([stage.task("a", "5 0 * * *"), stage.task("b", "0 0 * * *")])
        golden(caught.value, SchedulerError, "Cannot initialize scheduler: ConnectionError", {})
        assert isinstance(caught.value.details["cause"], ConnectionError)
        assert "hunter2" not in str(caught.value)
        assert stage.store.cases == before
        assert stage.events()[-1] == "SchedulerInitializationFailed"

    play(script)


async def _started_once(stage):
    scheduler = stage.scheduler()
    await scheduler.initialize([stage.task("a", "0 0 * * *")])
    await scheduler.stop()


def test_a_store_that_does_not_exist_is_an_error_of_the_scheduler(tmp_path):
    async def script():
        with pytest.raises(SchedulerError) as caught:
            await DeclarativeScheduler(f"sqlite:{tmp_path}/no/such/folder.db", timezone="UTC").initialize([])
        assert caught.value.message == "Cannot initialize scheduler: STORE_FAILED"

    asyncio.run(script())


@pytest.mark.req("DECL-ERR-DES-BASE", "DECL-ERR-DES-MISSING", "DECL-ERR-DES-TYPE", "DECL-ERR-DES-VALUE")
@pytest.mark.req("DECL-ERR-DES-STRUCT", "DECL-ERR-NAMES")
def test_the_errors_of_persisted_tasks():
    base = TaskTryDeserializeError("It varies", "cursor", "x", "number")
    golden(base, TaskTryDeserializeError, "It varies", {"field": "cursor", "value": "x", "expectedType": "number"})
    golden(TaskMissingFieldError("name"), TaskMissingFieldError, "Missing required field: name", {"field": "name"})
    message = "Invalid type for field 'cursor': expected number, got string"
    details = {"field": "cursor", "value": "x", "expectedType": "number", "actualType": "string"}
    golden(TaskInvalidTypeError("cursor", "x", "number", "string"), TaskInvalidTypeError, message, details)
    message = "Invalid value for field 'retryDelayMs': must be non-negative"
    details = {"field": "retryDelayMs", "value": -1, "reason": "must be non-negative"}
    error = TaskInvalidValueError("retryDelayMs", -1, "must be non-negative")
    golden(error, TaskInvalidValueError, message, details)
    golden(TaskInvalidStructureError("It varies", []), TaskInvalidStructureError, "It varies", {"value": []})
    kinds = (TaskMissingFieldError, TaskInvalidTypeError, TaskInvalidValueError, TaskInvalidStructureError)
    assert all(issubclass(kind, TaskTryDeserializeError) for kind in kinds)


def test_every_error_survives_pickling():
    made = [
        RegistrationsNotArrayError(),
        RegistrationShapeError(1, ("a",)),
        ScheduleDuplicateTaskError("a"),
        CronExpressionInvalidError("x", "minute", "is wrong", ValueError("cause")),
        TaskInvalidTypeError("cursor", "x", "number", "string"),
        SchedulerError("what", {"cause": 1}),
    ]
    for error in made:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.details.keys()) == (type(error), str(error), error.details.keys())
    named = {name for name in vars(errors) if name.endswith("Error")} - {"KronError"}
    assert all(issubclass(getattr(errors, name), SchedulerError) for name in named)
