"""Which node a mount was made for, where one driver serves several nodes of one machine.

The kernel of the machine knows all mounts and none of the nodes. So each node writes down where it
is about to mount something, before it does, and takes the note away after unmounting. A note alone
means nothing: what counts is what the kernel reports. It only tells whose mount that is.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

FOLDER = "mounted"


class MountedTargets:
    def __init__(self, state_dir: Path) -> None:
        """`state_dir` is this node's; those of the other nodes are beside it."""
        self._own = state_dir / FOLDER
        self._nodes = state_dir.parent

    def note(self, target: Path) -> None:
        self._own.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self._entry(target).symlink_to(target)

    def forget(self, target: Path) -> None:
        """Harmless when there is no note."""
        self._entry(target).unlink(missing_ok=True)

    def of_others(self) -> frozenset[Path]:
        """What other nodes have noted and this one has not."""
        folders = (entry for entry in self._nodes.glob(f"*/{FOLDER}") if entry != self._own)
        others = frozenset(target for folder in folders for target in _targets(folder))
        return others - frozenset(_targets(self._own)) if others else others

    def _entry(self, target: Path) -> Path:
        return self._own / hashlib.sha256(os.fsencode(target)).hexdigest()[:32]


def _targets(folder: Path) -> Iterator[Path]:
    for entry in folder.glob("*"):
        # Another node may take its note away while we look.
        with suppress(FileNotFoundError):
            yield entry.readlink()
