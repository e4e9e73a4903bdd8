"""What the options of backends on Ceph have in common: the key of their user, and lists."""

from pathlib import Path
from typing import Protocol

from plimsoll.processes.driver.settings import SetupError
from plimsoll.wire.ceph.connection import CephAccess

LONGEST_KEY = 4096
"""Bytes of a file that holds nothing else; keys have forty."""


class AccessOptions(Protocol):
    @property
    def monitors(self) -> str: ...

    @property
    def user(self) -> str: ...

    @property
    def key_file(self) -> str: ...


def access_of(options: AccessOptions) -> CephAccess:
    """Raises SetupError."""
    try:
        with Path(options.key_file).open("rb") as file:
            read = file.read(LONGEST_KEY + 1)
    except OSError as error:
        raise SetupError(f"keyFile: {options.key_file}: {error.strerror}") from error
    key = read.decode(errors="replace").strip()
    if len(read) > LONGEST_KEY or not (key.isascii() and key.isprintable() and key):
        raise SetupError(
            f"keyFile: {options.key_file}: holds no key; `ceph auth get-key` prints it"
        )
    return CephAccess(monitors=options.monitors, user=options.user, key=key)


def names_in(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))
