"""Tags on logical volumes: how to know ours, and whose they are.

A volume carries the id that the ledger knows it by, and the id of that ledger's directory. A volume
with another ledger's id is left alone, even when Plimsoll made it: its records may be elsewhere, or
lost, and a user may still need the data.

The name is there for people who look at the group with `lvs`; no code reads it back.
"""

import re
from collections.abc import Collection

OURS = "plimsoll"
ID = "plimsoll.id="
OWNER = "plimsoll.owner="
NAME = "plimsoll.name="
UNFINISHED = "plimsoll.unfinished"
"""Not wiped yet, or not filled: as good as not made."""

PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
NAME_BYTES = 256
"""lvm2 takes tags of at most 1024 characters, and every byte may need three of them."""

NAME_OF_OURS = re.compile(r"[a-z0-9][a-z0-9.-]{0,119}")


def tags_of(volume_id: str, *, owner: str, name: str) -> tuple[str, ...]:
    return (OURS, ID + volume_id, OWNER + owner, NAME + escaped(name))


def is_volume(volume_id: str, tags: Collection[str]) -> bool:
    return {OURS, ID + volume_id} <= set(tags)


def is_finished(tags: Collection[str]) -> bool:
    return UNFINISHED not in tags


def is_made_by(owner: str, tags: Collection[str]) -> bool:
    return {OURS, OWNER + owner} <= set(tags)


def escaped(text: str) -> str:
    """Only letters, digits, `_`, `.`, `-`; every other byte as `+` and two hexadecimal digits."""
    return "".join(
        chr(byte) if byte in PLAIN else f"+{byte:02x}"
        for byte in text.encode("utf-8", "replace")[:NAME_BYTES]
    )


def checked(name: str) -> str:
    """A logical volume is named by the id of the volume, and ids are our own: this makes sure.

    A name that begins with a dash would be an option. Raises ValueError.
    """
    if not NAME_OF_OURS.fullmatch(name):
        raise ValueError(f"{name!r} is no id of ours")
    return name
