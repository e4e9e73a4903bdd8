"""A directory for the pages that are run."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll.ui.local_cluster.leftovers import release


@pytest.fixture
def short() -> Iterator[Path]:
    """Sockets have short names; what a page left mounted is released."""
    directory = Path(tempfile.mkdtemp(prefix="doc-"))
    yield directory
    release(directory)
    shutil.rmtree(directory)
