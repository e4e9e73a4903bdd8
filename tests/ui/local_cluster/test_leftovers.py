from pathlib import Path

from plimsoll.ui.local_cluster.leftovers import mounted_under

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
