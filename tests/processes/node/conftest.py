"""Fixtures for tests of nodes."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory whose sockets have paths that the kernel takes."""
    with tempfile.TemporaryDirectory(prefix="node-") as directory:
        yield Path(directory).resolve()
