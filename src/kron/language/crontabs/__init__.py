"""Import of crontabs: the lines of crontab files as jobs of a krontab file that run when cron runs them."""
