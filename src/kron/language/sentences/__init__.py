"""Schedules as sentences: `daily around 14:00` -> placeholder -> one cron line, the same for ever."""
