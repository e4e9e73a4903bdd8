from pathlib import Path

import pytest

from plimsoll.ui.local_cluster import leftovers
from plimsoll.ui.local_cluster.leftovers import mounted_under, release

MOUNTS = """\
/dev/vda / ext4 rw 0 0
/dev/loop0 /srv/demo/nodes/a ext4 rw 0 0
/dev/loop0 /srv/demo/nodes/a/pods/with\\040blank ext4 rw 0 0
/dev/loop1 /srv/demonstration ext4 rw 0 0
"""


def test_only_what_is_mounted_inside_the_directory_is_found() -> None:
    assert mounted_under(Path("/srv/demo"), MOUNTS) == [
        Path("/srv/demo/nodes/a"),
        Path("/srv/demo/nodes/a/pods/with blank"),
    ]


def test_where_nothing_is_left_no_program_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(leftovers, "search_path", lambda: str(tmp_path))
    release(tmp_path.resolve())
