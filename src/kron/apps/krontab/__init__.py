"""`krontab`: the command of people who use `krond`. It works on the tables and the records of one daemon."""
