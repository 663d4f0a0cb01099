"""Applications: command line, HTTP service, embedded schedulers. They wire the parts and hold no scheduling rules."""
