"""Reasons: the texts of network errors that an attempt keeps. They name no address, no URL and no header."""

from __future__ import annotations

import os
import ssl

import httpcore


def reason_of(error: Exception) -> str:
    """Return why a request was not sent or not answered, such as `connection refused`."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS certificate rejected: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return "TLS handshake failed"
    if isinstance(error, httpcore.RemoteProtocolError):
        is_empty = "without sending a response" in str(error)
        return "connection closed without a response" if is_empty else "invalid HTTP response"
    if isinstance(error, httpcore.LocalProtocolError):
        return "invalid request"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return str(error) or ("timed out" if isinstance(error, TimeoutError) else type(error).__name__)
