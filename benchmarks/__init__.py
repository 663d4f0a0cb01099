"""What is measured rather than tested: `make oracle`, `make dst-board`, `make bench-next`."""
