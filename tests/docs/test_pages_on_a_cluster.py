"""The commands of the pages that share a cluster of `plimsoll up` work in their order."""

from pathlib import Path

import pytest

from tests.docs.running import ON_A_CLUSTER, SECONDS, type_group


@pytest.mark.timeout(SECONDS + 20)
def test_the_commands_of_pages_on_a_cluster_work_in_their_order(
    short: Path, tmp_path: Path
) -> None:
    type_group(ON_A_CLUSTER, short, tmp_path)
