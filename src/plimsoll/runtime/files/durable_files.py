"""Files that are there whole or not at all, even after a loss of power."""

import os
from pathlib import Path

DRAFT_SUFFIX = ".new"


def draft_of(path: Path) -> Path:
    """Where the new content lies until it is complete. A crash may leave it behind."""
    return path.with_name(path.name + DRAFT_SUFFIX)


def write_file(path: Path, content: bytes) -> None:
    """The file has its new content on disk when this returns. Before, it has its old one."""
    draft = draft_of(path)
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Files that were made, renamed or removed in a directory are so after a loss of power only
    when the directory itself is on disk."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
