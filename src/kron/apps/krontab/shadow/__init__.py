"""Shadow report: the runs that `krond --shadow` recorded, next to the commands that cron started."""
