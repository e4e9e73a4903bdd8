"""Certificates of a server that runs for longer than they last."""

import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from plimsoll.apiserver.http.certificates import (
    ServerCredentials,
    UnreadableKeysError,
    load_or_create,
)
from plimsoll.runtime.clock import Clock

log = logging.getLogger(__name__)

EVERY = timedelta(days=1)
"""Often enough: certificates are renewed a month before they end."""


async def keep_current(
    directory: Path, clock: Clock, renewed: Callable[[ServerCredentials], None]
) -> None:
    """Never returns. `renewed` is called with what takes the place of the server's certificate."""
    held = (directory / "server.crt").read_bytes()
    while True:
        await clock.sleep(EVERY)
        try:
            credentials = load_or_create(directory, clock.now())
            found = credentials.server_certificate.read_bytes()
            if found != held:
                renewed(credentials)
                held = found
                log.info("certificates renewed", extra={"directory": str(directory)})
        except (OSError, UnreadableKeysError) as error:
            # The certificate in use is good for a while yet; tomorrow the disk may have space.
            log.warning("certificates not renewed", extra={"error": str(error)})
