"""Host: what `krond` and `krontab` share: the tables, the accounts, the state folder and the control socket."""
