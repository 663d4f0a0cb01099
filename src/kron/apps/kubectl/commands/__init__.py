"""Commands of `kubectl kron`, one module for each."""
