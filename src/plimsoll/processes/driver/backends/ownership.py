"""The id of a data directory: what it owns elsewhere, on disks and in volume groups, bears it.

It is made once and kept beside the ledger. A ledger that is lost takes it along, so that the next
one leaves alone what it knows nothing of.
"""

import os
from pathlib import Path

from plimsoll.runtime.ids import Ids

FILE = "owner"


def owner_of(directory: Path, ids: Ids) -> str:
    """On disk before anything is tagged with it."""
    path = directory / FILE
    if not path.exists():
        _write(path, ids.uid())
    return path.read_text().strip()


def _write(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    with new.open("w") as file:
        file.write(f"{text}\n")
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
