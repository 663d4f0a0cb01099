"""Lines that are compared with Debian's cron."""

from pathlib import Path

CRONTABS = Path(__file__).parents[2] / "vectors" / "crontab_lines.txt"
REAL = [line for line in CRONTABS.read_text(encoding="ascii").splitlines() if not line.startswith("#")]

EDGES = [  # what the rules for stars, names, Sundays and clock changes tell apart
    *("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"),
    *("30 2 * * *", "0,30 2 * * *", "*/15 2 * * *", "* 2 * * *", "0-59 2 * * *", "0-59 0-4 * * *", "10-20 2 * * *"),
    *("0-59/20 0-3 * * *", "15 */2 * * *", "15 0-23/2 * * *", "0-59/5 2,3 * * *", "30 23,0,1,2,3 * * *"),
    *("30 0 * * *", "0 0 * * *", "59 23 * * *", "0 3 * * *", "0 1,2,3,4 * * *", "30 1-3 29 mar,oct *"),
    *("0 0 */2 * MON", "0 0 1-31 * MON", "0 0 13 * fri", "0 0 * * sun,TUE-Thu"),
    *("0 0 * * 0-7", "0 0 * * 5-7", "0 0 * * */3", "0 2 1-7 * */7"),
]
