"""Program that posts its standard input to a URL: `python -m kron.apps.daemon.notifications.post URL`.

The daemon starts it with the rights of the job's user, so that a URL reaches nothing that this user could not reach. It
follows no redirect. It is written with the standard library, because the daemon needs nothing else.
"""

from __future__ import annotations

import sys
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from kron._version import __version__

MAX_BYTES = 1_000_000  # of a message
ANSWER_SECONDS = 20.0  # for each step; the daemon ends the program after its own limit


class _NoRedirect(HTTPRedirectHandler):
    """A redirect is an answer like any other that is not a success."""

    def redirect_request(self, *_: Any) -> None:
        return None


def post(url: str, content: bytes, opener: OpenerDirector) -> str:
    """Post a message. Returns why it was not accepted; empty if it was."""
    headers = {"Content-Type": "application/json", "User-Agent": f"krond/{__version__}"}
    try:
        with opener.open(Request(url, content, headers, method="POST"), timeout=ANSWER_SECONDS):  # noqa: S310  # the form of the URL has been checked
            return ""
    except HTTPError as error:
        return f"the receiver answered {error.code}"
    except (OSError, HTTPException, ValueError) as error:
        return f"the receiver cannot be reached: {getattr(error, 'reason', None) or error}"


def main() -> int:
    """Post standard input to the URL that is the only argument."""
    problem = post(sys.argv[1], sys.stdin.buffer.read(MAX_BYTES), build_opener(_NoRedirect))
    if problem:
        sys.stderr.write(f"{problem}\n")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
