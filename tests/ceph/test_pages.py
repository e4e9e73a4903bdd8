"""The commands of the pages that need Ceph work in their order."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ceph import guardian
from tests.docs.pages import ROOT
from tests.docs.running import ON_CEPH, SECONDS, type_group


@pytest.fixture
def directory() -> Iterator[Path]:
    """Sockets have short names. What a page leaves running or mounted is cleared away."""
    made = Path(tempfile.mkdtemp(prefix="doc-"))
    yield made
    # By now the cluster is gone, and rbd-fuse would wait for it.
    guardian.kill_all(made)
    guardian.clear_away(made)


@pytest.mark.timeout(SECONDS + 60)
def test_the_commands_of_pages_on_ceph_work_in_their_order(directory: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "ceph-cluster.sh", directory)
    type_group(ON_CEPH, directory, tmp_path)
