"""How late tasks start that are all due in the same minute, in Kron and beside it: `make bench-embedded`."""
