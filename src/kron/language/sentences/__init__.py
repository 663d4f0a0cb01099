"""The fuzzy dialect: `daily around 14:00` -> placeholder -> one cron line, permanently the same for an identity."""
