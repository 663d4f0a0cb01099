"""Authentication and authorization of the HTTP service: tokens, scopes, certificates, audit log."""
