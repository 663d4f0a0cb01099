"""The version of Kron."""

__version__ = "0.1.0"
