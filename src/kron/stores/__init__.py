"""The stores: each keeps the promise of `kron.store`, and one suite holds them to it."""
