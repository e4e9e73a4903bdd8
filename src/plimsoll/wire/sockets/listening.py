"""Tells why an address cannot be listened on, in one sentence with the remedy."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager


class ListenError(OSError):
    """Its text names what was to be served, the address, the reason and the remedy."""


@contextmanager
def listening_told(served: str, host: str, port: int) -> Iterator[None]:
    """Turns the OSError of a socket that cannot listen into a ListenError."""
    try:
        yield
    except OSError as error:
        in_use = error.errno == errno.EADDRINUSE
        reason = "another program listens there" if in_use else error.strerror or str(error)
        raise ListenError(
            f"{served} cannot be served on {host}:{port}: {reason}; "
            "choose another port, or 0 for a free one"
        ) from error
