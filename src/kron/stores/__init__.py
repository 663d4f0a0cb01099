"""Stores: each implements the protocol of `kron.engine.store`, and one test suite verifies all of them."""
