"""Commands of `kron`, one module each."""
