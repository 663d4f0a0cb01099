"""Receives webhooks, checks who signed them, and takes each key once: `python receiver.py PORT SECRET`."""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kron.launchers.signature import verify

SECRET = sys.argv[2]
seen: set[str] = set()


class Receiver(BaseHTTPRequestHandler):
    """Answers 204 to what it takes, 409 to what it has, 401 to strangers."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status = 401
        if verify(SECRET, headers, body, time.time()):
            run = json.loads(body)["data"]
            status = 409 if run["key"] in seen else 204
            seen.add(run["key"])
            print(f"run {run['schedule_id']} of {run['period']}, attempt {run['attempt']}", flush=True)
        self.send_response(status)
        self.send_header("webhook-id", headers.get("webhook-id", ""))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words: object) -> None:
        """Only runs are worth a line."""


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
