"""A Kubernetes API over HTTP: objects with versions, lists by pages, watches with bookmarks, and faults on demand."""

import copy
import json
import sys
import threading
import time
import traceback
import uuid
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from tests.kube.bodies import merge, status_of

TIMES = {"+": "ADDED", "~": "MODIFIED", "-": "DELETED"}


class Fault:
    """What happens to a request instead of its answer: a status, or a cut of the line before or after the work.

    With `cut="hold"`, the work is done and the client waits for the answer until the server is released or closed. With
    `cut="stall"`, the client waits and the work is not done.
    """

    def __init__(self, status=0, *, reason="", causes=(), retry_after="", cut=""):
        self.status, self.cut, self.retry_after = status, cut, retry_after
        self.body = {
            "kind": "Status",
            "code": status,
            "reason": reason,
            "message": "as the test asks",
            "details": {"causes": [{"reason": cause} for cause in causes]},
        }


class ManyConnections(ThreadingHTTPServer):
    """A server to which many clients connect at once."""

    request_queue_size = 256
    daemon_threads = True


class FakeServer:
    """Objects by path and name. `faults` holds, by method and plural, what befalls the next requests, in order."""

    def __init__(self, page_size=None):
        self.lock = threading.Condition()
        self.objects, self.log, self.version, self.compacted = {}, [], 1, 0
        self.requests, self.faults, self.bodies = [], {}, []
        self.page_size, self.snapshots, self.cuts, self.bookmarks = page_size, {}, 0, True
        self.watch_cut_at = None  # bytes of a watch after which its line is cut
        self.max_watch_seconds, self.port = 3600.0, 0
        self.time = None  # seconds since 1970 that the answers tell; None: they tell no time
        self.released = threading.Event()
        self.start()

    def start(self):
        """Listen, after a stop on the same port."""
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                owner.answer(self)

            do_GET = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815

            def log_message(self, *_):
                """Say nothing."""

        self.http = ManyConnections(("127.0.0.1", self.port), Handler)
        self.http.handle_error = _tell_error
        self.port = self.http.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.released.set()
        self.cut_watches()
        self.http.shutdown()
        self.http.server_close()

    # what a test does to the cluster

    def put(self, plural, namespace, name, body=None, **metadata):
        """Create or replace an object, as a user would."""
        with self.lock:
            key, old = (plural, namespace, name), self.objects.get((plural, namespace, name))
            new = copy.deepcopy(body or {})
            given = {**new.get("metadata", {}), **metadata, "namespace": namespace, "name": name}
            given.setdefault("uid", old["metadata"]["uid"] if old else str(uuid.uuid4()))
            if plural == "kronjobs":
                before = old["metadata"]["generation"] if old else 0
                is_edit = old is None or old.get("spec") != new.get("spec")
                given.setdefault("generation", before + is_edit)
                if old and "status" in old:
                    new.setdefault("status", copy.deepcopy(old["status"]))
            new["metadata"] = given
            self._record("~" if old else "+", key, new)
            return new

    def end_job(self, namespace, name, condition="Complete", at="2026-03-01T10:00:20Z"):
        """End a Job, as the controller of Jobs does."""
        with self.lock:
            body = copy.deepcopy(self.objects["jobs", namespace, name])
            ends = {"completionTime": at} if condition == "Complete" else {}
            conditions = [{"type": condition, "status": "True", "reason": "Test", "lastTransitionTime": at}]
            body["status"] = {"conditions": conditions, **ends}
            self._record("~", ("jobs", namespace, name), body)

    def remove(self, plural, namespace, name):
        with self.lock:
            self._record("-", (plural, namespace, name), self.objects[plural, namespace, name])

    def compact(self):
        """Forget all changes: older versions cannot be watched any more, and pages of old lists are gone."""
        with self.lock:
            self.compacted = self.version
            self.log.clear()
            self.snapshots.clear()

    def cut_watches(self):
        with self.lock:
            self.cuts += 1
            self.lock.notify_all()

    def fail(self, method, plural, *faults):
        self.faults.setdefault((method, plural), []).extend(faults)

    def of(self, plural):
        return {(space, name): body for (kind, space, name), body in self.objects.items() if kind == plural}

    def count(self, method, ending):
        return sum(1 for each, path, _ in self.requests if each == method and path.endswith(ending))

    # what the cluster answers

    def answer(self, handler):
        split = urlsplit(handler.path)
        query = {name: values[0] for name, values in parse_qs(split.query).items()}
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        if split.path == "/version":
            return self._say(handler, 200, {"gitVersion": "v1.31.0"})
        _, _, _, *rest = split.path.strip("/").split("/")
        namespace = rest.pop(1) if rest[0] == "namespaces" else ""
        rest = rest[1:] if namespace else rest
        plural, name, sub = [*rest, "", ""][:3]
        reads = "WATCH" if query.get("watch") else "CHECK" if query.get("limit") == "1" else "LIST"
        method = reads if handler.command == "GET" and not name else handler.command
        with self.lock:
            self.requests.append((method, split.path, query))
            self.bodies.append((handler.headers.get("Content-Type"), json.loads(body) if body else None))
            queue = self.faults.get(("DRY RUN" if query.get("dryRun") else method, plural)) or []
            fault, cuts = queue.pop(0) if queue else None, self.cuts
        if fault and fault.cut in ("before", "stall"):
            if fault.cut == "stall":
                self.released.wait(60)
            return self._cut(handler)
        if fault and fault.status:
            return self._say(handler, fault.status, fault.body, fault.retry_after)
        if method == "WATCH":
            return self._watch(handler, plural, namespace, query, cuts)
        with self.lock:
            status, found = self._do(method, (plural, namespace, name), sub, query, json.loads(body) if body else None)
        if fault and fault.cut == "hold":
            self.released.wait(60)
        return self._cut(handler) if fault else self._say(handler, status, found)

    def _do(self, method, key, sub, query, body):
        if method in ("LIST", "CHECK"):
            return self._list(key[0], key[1], query)
        if method == "POST":
            return self._create((key[0], key[1], body["metadata"]["name"]), body, query)
        if key not in self.objects:
            return 404, status_of(404, "NotFound")
        old = self.objects[key]
        if method == "PATCH":
            new = copy.deepcopy(old)
            assert sub in ("", "status")
            wanted = (body.get("metadata") or {}).get("resourceVersion")
            if wanted and wanted != old["metadata"]["resourceVersion"]:
                return 409, status_of(409, "Conflict")
            merge(new.setdefault("status", {}) if sub else new, body["status"] if sub else body)
            if new.get("spec") != old.get("spec"):
                new["metadata"]["generation"] = old["metadata"].get("generation", 1) + 1
            self._record("~", key, new)
            return 200, self.objects[key]
        if method == "DELETE":
            wanted = {name: value for name, value in ((body or {}).get("preconditions") or {}).items() if value}
            if any(old["metadata"].get(name) != value for name, value in wanted.items()):
                return 409, status_of(409, "Conflict")
            self._record("-", key, old)
        return 200, old

    def _create(self, key, body, query):
        if key in self.objects:
            return 409, status_of(409, "AlreadyExists")
        new = copy.deepcopy(body)
        new["metadata"] |= {"namespace": key[1], "uid": str(uuid.uuid4())}
        if query.get("dryRun") != "All":
            self._record("+", key, new)
        return 201, new

    def _list(self, plural, namespace, query):
        token = query.get("continue")
        if token and token.split("/")[0] not in self.snapshots:
            return 410, status_of(410, "Expired")
        if int(query.get("resourceVersion") or 0) > self.version:
            return 504, status_of(504, "Timeout", "ResourceVersionTooLarge")
        if token:
            number, start = token.split("/")
            version, found = self.snapshots[number]
        else:
            found = [body for key, body in sorted(self.objects.items()) if _fits(key, body, plural, namespace, query)]
            version, number, start = self.version, str(len(self.snapshots) + 1), 0
            self.snapshots[number] = version, copy.deepcopy(found)
        size = self.page_size or int(query.get("limit", 1000))
        end = int(start) + size
        metadata = {"resourceVersion": str(version)}
        if end < len(found):
            metadata["continue"] = f"{number}/{end}"
        return 200, {"metadata": metadata, "items": found[int(start) : end]}

    def _watch(self, handler, plural, namespace, query, cuts):
        seen, sent = int(query["resourceVersion"]), 0
        until = time.monotonic() + min(self.max_watch_seconds, float(query["timeoutSeconds"]))
        self._begin(handler, 200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while time.monotonic() < until:
            with self.lock:
                if seen < self.compacted:
                    lines, ends = [{"type": "ERROR", "object": status_of(410, "Expired")}], True
                else:
                    lines, ends = self._events(seen, plural, namespace, query), False
                    seen = max([seen, *(version for version, *_ in self.log)])
                if not lines and self.cuts == cuts:
                    self.lock.wait(until - time.monotonic())
            data = b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)
            if self.watch_cut_at is not None and sent + len(data) > self.watch_cut_at:
                data, ends = data[: max(0, self.watch_cut_at - sent)], True
            try:
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if data else b"")
            except OSError:
                return self._cut(handler)
            sent += len(data)
            if ends or self.cuts != cuts:
                return self._cut(handler)
        handler.wfile.write(b"0\r\n\r\n")
        return None

    def _events(self, seen, plural, namespace, query):
        lines = [
            {"type": TIMES[sign], "object": body}
            for version, sign, key, body in self.log
            if version > seen and _fits(key, body, plural, namespace, query)
        ]
        others = any(version > seen for version, *_ in self.log)
        if self.bookmarks and others:
            lines.append({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(self.version)}}})
        return lines

    def _record(self, sign, key, body):
        self.version += 1
        body = copy.deepcopy(body)
        body["metadata"]["resourceVersion"] = str(self.version)
        self.objects.pop(key, None)
        if sign != "-":
            self.objects[key] = body
        self.log.append((self.version, sign, key, copy.deepcopy(body)))
        self.lock.notify_all()

    def _cut(self, handler):
        handler.close_connection = True
        handler.connection.close()

    def _begin(self, handler, status):
        handler.send_response_only(status)
        if self.time is not None:
            handler.send_header("Date", formatdate(self.time, usegmt=True))

    def _say(self, handler, status, found, retry_after=""):
        body = json.dumps(found, ensure_ascii=False).encode()
        self._begin(handler, status)
        if retry_after:
            handler.send_header("Retry-After", retry_after)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


def _tell_error(*_):
    """Print an error of the server itself. A client that has gone is none."""
    if not isinstance(sys.exc_info()[1], OSError):
        traceback.print_exc()


def _fits(key, body, plural, namespace, query):
    label = query.get("labelSelector")
    labels = body["metadata"].get("labels") or {}
    return key[0] == plural and namespace in ("", key[1]) and (not label or label in labels)
