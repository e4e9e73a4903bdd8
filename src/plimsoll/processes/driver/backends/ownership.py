"""The id of a data directory: what it owns elsewhere, on disks and in volume groups, bears it.

It is made once and kept beside the ledger. A ledger that is lost takes it along, so that the next
one leaves alone what it knows nothing of.
"""

from pathlib import Path

from plimsoll.runtime.files.durable_files import write_file
from plimsoll.runtime.ids import Ids

FILE = "owner"


def owner_of(directory: Path, ids: Ids) -> str:
    """On disk before anything is tagged with it."""
    path = directory / FILE
    if not path.exists():
        write_file(path, f"{ids.uid()}\n".encode())
    return path.read_text().strip()
