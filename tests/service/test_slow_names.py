"""Slow names through the whole service: schedules whose names are never resolved hold up nobody else's."""

import json
import socket
import threading
import time

from tests.service.http import receiving, serving, until


def test_slow_names_of_one_owner_do_not_stop_another_schedule(monkeypatch):
    end, real = threading.Event(), socket.getaddrinfo

    def getaddrinfo(host, *args, **more):
        if str(host).endswith("hang.test"):
            end.wait(30)
            raise OSError("no answer")
        return real("127.0.0.1" if host == "good.test" else host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with receiving() as receiver, serving(run_worker=True, tick_ms=50) as service:
        try:
            evil = [
                {"id": f"evil-{n}", "schedule": "* * * * * *", "target": f"http://x{n}.hang.test:{receiver.port}/"}
                for n in range(30)
            ]
            body = b"\n".join(json.dumps(line).encode() for line in evil)
            assert {
                each["status"]
                for each in service.call("POST", "/v1/schedules:bulk", body, Content_Type="application/x-ndjson").lines
            } == {200}
            time.sleep(2)
            target = f"http://good.test:{receiver.port}/"
            service.put("/v1/schedules/victim", {"schedule": "0 9 1 1 *", "target": target, "overlap_policy": "allow"})
            for count in (1, 2, 3):
                service.post("/v1/schedules/victim/trigger")
                until(lambda count=count: len(receiver.seen) == count, 8)
        finally:
            end.set()
