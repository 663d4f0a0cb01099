"""The little of a Kubernetes API that Jobs need, over HTTP, with faults on demand."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CRONJOB = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "report", "namespace": "shop", "uid": "u-1"},
    "spec": {
        "schedule": "0 0 31 2 *",
        "suspend": True,
        "jobTemplate": {
            "metadata": {"labels": {"app": "report"}},
            "spec": {
                "template": {
                    "spec": {
                        "containers": [{"name": "main", "image": "shop/report:1"}],
                        "restartPolicy": "Never",
                    }
                }
            },
        },
    },
}


class Cluster:
    """Keeps objects by their paths. `faults`: what befalls the next request of a method, a status or a cut line."""

    def __init__(self):
        self.objects = {"/apis/batch/v1/namespaces/shop/cronjobs/report": json.loads(json.dumps(CRONJOB))}
        self.requests, self.faults = [], {}
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                cluster.answer(self, "GET")

            def do_POST(self):
                cluster.answer(self, "POST")

            def do_DELETE(self):
                cluster.answer(self, "DELETE")

            def log_message(self, *_):
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def cronjob(self):
        return self.objects["/apis/batch/v1/namespaces/shop/cronjobs/report"]

    @property
    def jobs(self):
        return {path: found for path, found in self.objects.items() if "/jobs/" in path}

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler, method):
        path = handler.path.partition("?")[0]
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        self.requests.append((method, path))
        fault = self.faults.pop((method, path.rpartition("/")[2] if method == "POST" else path.split("/")[6]), None)
        if isinstance(fault, int):
            self._say(handler, fault, {"kind": "Status", "code": fault, "message": "as asked"})
        elif fault == "cut before":
            handler.close_connection = True
            handler.connection.close()
        else:
            status, found = self._do(method, path, body)
            if fault == "cut after":
                handler.close_connection = True
                handler.connection.close()
            else:
                self._say(handler, status, found)

    def _do(self, method, path, body):
        missing = 404, {"kind": "Status", "code": 404, "message": "not found"}
        if method == "POST":
            made = json.loads(body)
            where = f"{path}/{made['metadata']['name']}"
            if where in self.objects:
                return 409, {"kind": "Status", "code": 409, "reason": "AlreadyExists", "message": "it exists"}
            self.objects[where] = made
            return 201, made
        if path not in self.objects:
            return missing
        if method == "DELETE":
            return 200, self.objects.pop(path)
        return 200, self.objects[path]

    def _say(self, handler, status, found):
        body = json.dumps(found).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
