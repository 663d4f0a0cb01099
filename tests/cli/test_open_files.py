"""A worker may open enough files, even if its service manager started it with few."""

import resource
import subprocess
import sys

PROBE = """
import resource
from kron.apps.open_files import allow_more
allow_more()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def limits_after(soft, hard):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    told = subprocess.run([sys.executable, "-c", PROBE], preexec_fn=few, capture_output=True, check=True)
    return tuple(map(int, told.stdout.split()))


def test_limit_is_raised_as_far_as_it_may_be():
    assert limits_after(256, 8_192) == (4_096, 8_192)
    assert limits_after(256, 1_024) == (1_024, 1_024)
    assert limits_after(5_000, 8_192) == (5_000, 8_192)
