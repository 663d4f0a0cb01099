"""Host commands: a launcher that starts each command once per host, and follows it to its end."""
