from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.driver.node.ground import swept


@pytest.fixture
def ground_dir(tmp_path: Path) -> Iterator[Path]:
    """Where mounts may be made: whatever is left of them is taken away."""
    with swept(tmp_path) as directory:
        yield directory
