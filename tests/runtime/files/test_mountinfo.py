from pathlib import Path

import pytest

from plimsoll.runtime.files.mountinfo import (
    MountContent,
    content_at,
    find_mount,
    mounts_below,
    parse_mount_points,
    parse_mounts,
    read_mount_points,
    read_mounts,
)

TEXT = """\
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
30 27 8:1 / /srv/disk rw,noexec - xfs /dev/sda1 rw
31 27 8:1 /volumes/a /pods/a ro,relatime - xfs /dev/sda1 rw
32 27 8:2 / /pods/two\\040words rw - ext4 /dev/sda2 ro
33 27 0:44 / /pods/a rw - tmpfs none rw,size=4k
"""


def test_every_field_is_read() -> None:
    (_, disk, bound, spaced, _) = parse_mounts(TEXT)
    assert disk.path == Path("/srv/disk")
    assert (disk.fs_type, disk.source) == ("xfs", "/dev/sda1")
    assert {"noexec", "rw"} <= disk.options
    assert bound.content == MountContent("8:1", "/volumes/a")
    assert spaced.path == Path("/pods/two words")


@pytest.mark.parametrize(
    ("path", "read_only"),
    [
        pytest.param("/srv/disk", False, id="writable"),
        pytest.param("/pods/two words", True, id="the-file-system-is-read-only"),
    ],
)
def test_read_only_is_either_the_mount_or_the_file_system(path: str, *, read_only: bool) -> None:
    found = find_mount(parse_mounts(TEXT), Path(path))
    assert found is not None
    assert found.is_read_only is read_only


def test_the_uppermost_mount_is_found() -> None:
    found = find_mount(parse_mounts(TEXT), Path("/pods/a"))
    assert found is not None
    assert found.fs_type == "tmpfs"
    assert find_mount(parse_mounts(TEXT), Path("/pods")) is None


def test_content_says_what_a_bind_mount_would_show() -> None:
    mounts = parse_mounts(TEXT)
    assert content_at(mounts, Path("/srv/disk/volumes/a")) == MountContent("8:1", "/volumes/a")
    assert content_at(mounts, Path("/pods/a/file")) == MountContent("0:44", "/file")
    assert content_at(mounts, Path("/etc")) == MountContent("254:0", "/etc")


def test_the_kernels_own_list_can_be_read() -> None:
    assert find_mount(read_mounts(), Path("/")) is not None
    assert "/" in read_mount_points()


def test_mount_points_are_the_paths_of_all_mounts() -> None:
    assert parse_mount_points(TEXT) == {str(mount.path) for mount in parse_mounts(TEXT)}


@pytest.mark.parametrize("odd", ["\r", "\x0b", "\x1c", "\u2028"])
def test_only_a_line_feed_ends_a_line(odd: str) -> None:
    text = f"30 27 8:1 / /pods/a{odd}b rw - xfs /dev/sda1 rw\n"
    assert [mount.path for mount in parse_mounts(text)] == [Path(f"/pods/a{odd}b")]
    assert parse_mount_points(text) == {f"/pods/a{odd}b"}


def test_mounts_below_a_path_are_its_own_and_those_inside() -> None:
    points = frozenset({"/", "/pods", "/pods/a", "/pods/a/b", "/podsib"})
    assert mounts_below(Path("/pods"), points) == ["/pods", "/pods/a", "/pods/a/b"]
