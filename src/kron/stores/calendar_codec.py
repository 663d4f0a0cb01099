"""Rows of the calendar facts: one JSON text for each scope."""

from __future__ import annotations

import json

from kron.rules.calendar_facts import CalendarFacts, RareDay, RareRun, ZoneHours


def write_facts(facts: CalendarFacts) -> str:
    """Return the text of facts, without the time at which they were written."""
    return json.dumps({"zones": facts.zones, "days": facts.days}, separators=(",", ":"))


def read_facts(text: str, written: int) -> CalendarFacts:
    """Return the facts of a text."""
    values = json.loads(text)
    zones = (ZoneHours(zone, schedules, tuple(hours)) for zone, schedules, hours in values["zones"])
    days = (RareDay(day, count, tuple(RareRun(*run) for run in runs)) for day, count, runs in values["days"])
    return CalendarFacts(tuple(zones), tuple(days), written)
