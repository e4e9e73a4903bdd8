from pathlib import Path

import pytest
from conformance.csi_endurance import endure

from tests.processes.driver.node.ground import needs_root


@needs_root
@pytest.mark.timeout(600)
async def test_a_driver_that_is_killed_again_and_again_loses_and_leaks_nothing(
    tmp_path: Path,
) -> None:
    await endure(tmp_path, rounds=20, seed=5, say=print)
