"""Tells in words what an HTTP client met, where the library would print objects of its memory."""

import aiohttp


def told(error: Exception) -> str:
    """Never empty, and the same for the same failure."""
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        if isinstance(cause, ConnectionRefusedError):
            return "cannot connect: connection refused, no program listens there"
        return f"cannot connect: {cause.strerror or cause}"
    return str(error) or type(error).__name__
