"""Directories deeper than a path can name, or Python recurse."""

import os
from pathlib import Path


def make_deep(path: Path, levels: int) -> None:
    handle = os.open(path, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("deeper", dir_fd=handle)
        below = os.open("deeper", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
