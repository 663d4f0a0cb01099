"""Request and response bodies of the HTTP service."""
