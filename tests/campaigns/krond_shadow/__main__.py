"""Debian's cron next to `krond --shadow` for 10 minutes, in real time: `make krond-shadow`.

cron is killed in minute 3 and started again in minute 5, and it is stopped by SIGSTOP from minute 7 to minute 9. The
report must name exactly the runs of minutes 4 and 5, which cron lost. What it starts late after the SIGSTOP is not
lost.

What cron should have run is computed by tests/language/crontab_oracle.py. What it did run, its commands noted in a
file.

Exit code: 0 if the report is right, 1 if it is not, 2 if cron cannot be run here: it needs root, unshare and apt.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from kron.apps.declarative.host import system_zone
from tests.campaigns.debian_cron.build import Unavailable
from tests.campaigns.krond_shadow.package import cron_binary
from tests.daemon.krond import BIN, until
from tests.language import crontab_oracle

MINUTES, LOST = 10, (4, 5)
ORDERS = {3.5: "kill", 5.5: "start", 7.5: "stop", 9.2: "continue"}  # by the minutes since the beginning
LINES = [  # schedule, user, and what the command does after it has noted its number
    ("* * * * *", "root", ""),
    ("*/2 * * * *", "root", "; true '\\%s' \"$HOME\""),
    ("1-59/2 * * * *", "nobody", "; cat%one%two"),
    ("{fixed} * * * *", "root", "; true äöü"),
    ("{fixed} {hours} * * *", "nobody", "; true \t tab"),
    ("*/3 * * * *", "root", "; true # (comment)"),
    ("* * * * *", "nobody", "; sleep 70"),
    ("{even} * * * *", "root", "; true same"),
    ("{odd} * * * *", "root", "; true same"),
    ("*/2 * * * *", "nobody", "; true same"),
]
SAME = {"root": 7, "nobody": 9}  # line whose number the equal commands of a user note


def crontab_lines(folder: Path, start: int) -> list[tuple[str, str, str]]:
    """The lines, with times in the minutes of this campaign."""
    zone = ZoneInfo(system_zone())
    minutes = [start // 60 % 60 + number for number in range(MINUTES + 2)]
    hours = ",".join(sorted({str(datetime.fromtimestamp(start + n * 60, zone).hour) for n in range(MINUTES + 2)}))
    lists = {"fixed": minutes, "even": minutes[::2], "odd": minutes[1::2]}
    texts = {name: ",".join(str(each % 60) for each in values) for name, values in lists.items()}
    lines = []
    for number, (schedule, user, rest) in enumerate(LINES):
        noted = SAME[user] if rest.endswith("same") else number
        command = f"echo {noted} >> {folder}/ran{rest}"
        lines.append((schedule.format(hours=hours, **texts), user, command))
    return lines


class Campaign:
    """cron on a host of its own, krond, and the folder of both."""

    def __init__(self, folder: Path):
        self.folder, self.problems = folder, list[str]()
        self.start = (int(time.time()) // 60 + 2) * 60  # the first compared minute
        self.lines = crontab_lines(folder, self.start)
        (folder / "ran").touch()
        (folder / "ran").chmod(0o666)
        (folder / "crontab").write_text(
            "".join(f"{schedule} {user} {command}\n" for schedule, user, command in self.lines), encoding="utf-8"
        )

    def run(self) -> None:
        place = ["--config", str(self.folder / "tables"), "--state", str(self.folder / "state" / "state.db")]
        (self.folder / "tables").mkdir(mode=0o755)
        words = ["import", "--system", "--write", str(self.folder / "tables" / "cron"), str(self.folder / "crontab")]
        subprocess.run([BIN / "krontab", *words], check=True)
        here = [sys.executable, "-m", "tests.campaigns.krond_shadow.cron_host", str(self.folder), str(cron_binary())]
        host = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", *here],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        with (self.folder / "krond.log").open("w") as log:
            krond = subprocess.Popen([BIN / "krond", "--shadow", *place, "--log", "json"], stderr=log)
        try:
            assert host.stdout.readline() == "ready\n"
            until(lambda: "krond_started" in (self.folder / "krond.log").read_text())
            self.order(host, "start")
            for minute, order in ORDERS.items():
                self.sleep_until(minute)
                self.order(host, order)
            self.sleep_until(MINUTES + 1.1)  # a minute is compared after the next one has passed
            done = subprocess.run([BIN / "krontab", "shadow-report", *place, "--log", str(self.folder / "syslog")])
            self.check(done.returncode, self.report(place))
        finally:
            krond.terminate()
            krond.wait()
            host.communicate("end\n")

    def order(self, host: subprocess.Popen, order: str) -> None:
        print(f"{datetime.now(UTC):%H:%M:%S} cron: {order}", flush=True)
        host.stdin.write(f"{order}\n")
        host.stdin.flush()

    def sleep_until(self, minute: float) -> None:
        while (left := self.start + minute * 60 - time.time()) > 0:
            time.sleep(min(left, 5))

    def report(self, place: list[str]) -> dict:
        words = ["shadow-report", *place, "--log", str(self.folder / "syslog"), "-o", "json"]
        return json.loads(subprocess.run([BIN / "krontab", *words], capture_output=True, text=True).stdout)

    def check(self, status: int, report: dict) -> None:
        """Compare the report with what should have run and with what did run."""
        zone = system_zone()
        first, end = (int(datetime.fromisoformat(report[name]).timestamp()) for name in ("from", "to"))
        self.expect("the compared minutes", (first <= self.start, end >= self.start + MINUTES * 60), (True, True))
        expected, lost = Counter(), Counter()
        for schedule, _, command in self.lines:
            for at in crontab_oracle.runs(schedule, zone, first, end):
                is_lost = (at - self.start) // 60 in LOST
                (lost if is_lost else expected)[number_of(command), at] += 1
        named = Counter(
            (number_of(each["command"]), int(datetime.fromisoformat(each["minute"]).timestamp()))
            for each in report["differences"]
            if each["only"] == "kron"
        )
        self.expect("the runs that cron lost", named, lost)
        self.expect("the counts", (report["only_cron"], report["neither"]), (0, 0))
        self.expect("the runs of both", report["both"], expected.total())
        self.expect("the exit status", status, 1)
        ran = Counter(map(int, (self.folder / "ran").read_text().split()))
        unreported = {n: ran[n] - sum(count for (m, _), count in expected.items() if m == n) for n in ran}
        later = {n: sum(number_of(c) == n and bool(crontab_oracle.runs(s, zone, at, at + 60))
                 for s, _, c in self.lines for at in range(end, int(time.time()), 60)) for n in ran}  # fmt: skip
        self.expect("what the commands noted", unreported, later)
        self.expect("a late run after SIGSTOP", max(each["cron_late_ms"] for each in report["pairs"]) >= 60_000, True)
        print(
            f"cron lost {lost.total()} runs in minutes {LOST[0]} and {LOST[1]}; the report names {named.total()} of "
            f"Kron only, {report['only_cron']} of cron only and {report['both']} of both; "
            f"the commands of cron noted {ran.total()} starts, and krond started none"
        )

    def expect(self, what: str, found: object, expected: object) -> None:
        if found != expected:
            self.problems.append(f"{what}: found {found}, expected {expected}")


def number_of(command: str) -> int:
    return int(re.match(r"echo (\d+) ", command)[1])


def main() -> int:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        print("krond-shadow: needs root and unshare")
        return 2
    folder = Path(tempfile.mkdtemp(prefix="kron-shadow-"))
    folder.chmod(0o755)
    try:
        print(f"krond-shadow: {cron_binary()}, {len(LINES)} lines, about {MINUTES + 3} minutes", flush=True)
        campaign = Campaign(folder)
        campaign.run()
    except Unavailable as error:
        print(f"krond-shadow: cron cannot be run: {error}")
        return 2
    for problem in campaign.problems:
        print(f"problem: {problem}")
    if campaign.problems:
        print(f"krond-shadow: FAIL, see {folder}")
        return 1
    shutil.rmtree(folder)
    print("krond-shadow: PASS")
    return 0


if __name__ == "__main__":
    sys.exit(main())
