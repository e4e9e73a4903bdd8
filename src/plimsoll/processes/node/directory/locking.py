"""Lets one node process use a directory at a time: two would undo each other's mounts."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plimsoll.runtime.config import ConfigError

LOCK = "node.lock"


@contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """The directory is ours while the block lasts; the kernel lets go of it with the process.

    Raises ConfigError.
    """
    try:
        handle = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"{directory}: cannot be used: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise ConfigError(f"{directory}: another plimsoll node uses it; stop that first") from None
    try:
        yield
    finally:
        os.close(handle)
