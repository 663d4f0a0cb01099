"""What schemathesis may say where the interface names a format: some of it sound, so that something is accepted."""

import json

import schemathesis
from hypothesis import strategies as st

CRON = ["0 9 * * *", "*/5 * * * *", "* * * * * *", "0 0 31 2 *", "0 2 * * MON-FRI", "61 * * * *", "0 9 * * 8"]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia", "Mars/Olympus", "Europe/../UTC"]
TARGETS = ["http://127.0.0.1:9/hook", "https://example.org/x?y=1", "ftp://example.org", "https://u@example.org/", "/"]

schemathesis.openapi.format("cron", st.sampled_from(CRON) | st.text(min_size=1, max_size=40))
schemathesis.openapi.format("iana-zone", st.sampled_from(ZONES))
schemathesis.openapi.format("uri", st.sampled_from(TARGETS))

LINES = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(["a", "b", "a/b", ""]), "schedule": st.sampled_from(CRON)},
        optional={"target": st.sampled_from(TARGETS), "timezone": st.sampled_from(ZONES), "more": st.none()},
    ).map(json.dumps)
    | st.text(max_size=40),
    max_size=5,
).map(lambda lines: "\n".join(lines).encode("utf-8", "replace"))
schemathesis.openapi.media_type("application/x-ndjson", LINES)


@schemathesis.serializer("application/x-ndjson")
def lines_of(context, value):
    """As it is; what else is made up, as JSON."""
    return value if isinstance(value, bytes) else json.dumps(value, default=str).encode()
