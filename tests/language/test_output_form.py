"""Forms of outputs: what krontab lines and `kron load` accept, and the file of each period."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.language.fault import Fault
from kron.language.krontab import read_table
from kron.language.output_form import CAPTURE, Form, OutputForm, output_form, read_output
from kron.timing.zone import zone

WORDS = ["capture", "inherit", "discard", "syslog", "journal"]


def line_of(value, key="stdout"):
    return read_table(f'0 0 * * * name=a command=b {key}="{value}"', "/krontab")


@pytest.mark.parametrize("key", ["stdout", "stderr"])
@pytest.mark.parametrize("value", [*WORDS, "file:/var/log/%F.log", "/var/log/100%.log", "/dev/null"])
def test_krontab_line_keeps_the_form_as_written(key, value):
    (job,) = line_of(value, key).jobs
    assert getattr(job.command, key) == value


@pytest.mark.parametrize("word", WORDS)
def test_word_is_its_form(word):
    assert read_output(word) == (Form(word), "", False)


def test_plain_path_has_no_directives():
    assert read_output("/log/%Y").path_at(0, zone("UTC")) == "/log/%Y"
    assert read_output("file:/log/%Y").path_at(0, zone("UTC")) == "/log/1970"


def test_path_of_the_null_device_discards():
    assert read_output("/dev/null") == OutputForm(Form.DISCARD)


def test_default_is_captured():
    assert output_form(None) == CAPTURE == read_output("capture")


@pytest.mark.parametrize(
    ("value", "part", "message", "hint"),
    [
        ("log.txt", "log.txt", "'log.txt' is not an output", "file:/path or an absolute path"),
        ("Capture", "Capture", "'Capture' is not an output", "write capture, inherit, discard, syslog, journal"),
        ("file", "file", "'file' is not an output", "write capture, inherit, discard, syslog, journal"),
        ("file:log.txt", "log.txt", "'log.txt' is not an absolute path", "begin the path with /"),
        ("file:/a/%Q.log", "%Q", "'%Q' is not a known part of a time", "%Y, %m, %d, %H, %M, %S, %F, %s, %%"),
        ("file:/a/50%", "%", "'%' is not a known part of a time", "%%"),
    ],
)
def test_other_value_is_refused_with_what_to_write(value, part, message, hint):
    with pytest.raises(Fault) as caught:
        read_output(value)
    fault = caught.value
    assert (fault.code, fault.message, value[fault.start : fault.end]) == ("BAD_VALUE", message, part)
    assert hint in fault.hint
    (error,) = line_of(value).errors
    assert (error.code, error.hint) == ("BAD_VALUE", fault.hint)
    with pytest.raises(ValueError, match="is not"):
        output_form(value)


@given(
    st.integers(86_400, 4_102_444_800),
    st.sampled_from(["UTC", "Europe/Paris", "Australia/Lord_Howe", "America/St_Johns"]),
    st.lists(st.sampled_from(["%Y", "%m", "%d", "%H", "%M", "%S", "%F", "%%", "-", "é", "a/"]), max_size=8),
)
def test_directives_mean_what_strftime_means(nominal, timezone, parts):
    """The oracle is the C library, for the directives that do not depend on a locale."""
    path = "/" + "".join(parts)
    local = datetime.fromtimestamp(nominal, ZoneInfo(timezone))
    expected = "".join(local.strftime(part) if part.startswith("%") else part for part in parts)
    assert read_output(f"file:{path}").path_at(nominal, zone(timezone)) == f"/{expected}"


def test_second_of_the_epoch_distinguishes_the_hours_of_a_dst_fold():
    first, second = 1_792_888_200, 1_792_891_800  # 2026-10-25 02:30 in Paris, twice
    by_wall, by_second = read_output("file:/%F-%H%M"), read_output("file:/%s")
    paris = zone("Europe/Paris")
    assert by_wall.path_at(first, paris) == by_wall.path_at(second, paris) == "/2026-10-25-0230"
    assert [by_second.path_at(t, paris) for t in (first, second)] == ["/1792888200", "/1792891800"]
