import os
import resource
import stat
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import FrameType

import pytest

from plimsoll.processes.node.directory.ownership import give_files
from plimsoll.processes.node.directory.protocol import FileGroup

GROUP = 4242
PRIVATE = 0o600
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    root = tmp_path / "volume"
    root.mkdir()
    return root


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file of the machine, outside of the volume."""
    outside = tmp_path / "machine"
    outside.mkdir(mode=0o700)
    file = outside / "secret"
    file.write_text("key")
    file.chmod(PRIVATE)
    return file


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_everything_below_the_root_is_given(volume: Path) -> None:
    (volume / "a" / "b").mkdir(parents=True)
    for path in (volume / "one", volume / "a" / "two", volume / "a" / "b" / "three"):
        path.touch()
        path.chmod(0o600)
    give_files(volume, FileGroup(id=GROUP))
    for path in (volume, *volume.rglob("*")):
        assert path.lstat().st_gid == GROUP
        assert mode(path) & 0o660 == 0o660
        if path.is_dir():
            assert mode(path) & 0o2110 == 0o2110


def test_bits_that_were_there_stay(volume: Path) -> None:
    program = volume / "program"
    program.touch()
    program.chmod(0o4755)
    give_files(volume, FileGroup(id=GROUP))
    assert mode(program) == 0o4775


def test_links_are_given_and_not_followed(volume: Path, secret: Path) -> None:
    (volume / "file").symlink_to(secret)
    (volume / "directory").symlink_to(secret.parent)
    (volume / "dangling").symlink_to("nowhere")
    give_files(volume, FileGroup(id=GROUP))
    for name in ("file", "directory", "dangling"):
        assert (volume / name).lstat().st_gid == GROUP
    assert (mode(secret), secret.stat().st_gid) == (PRIVATE, 0)
    assert (mode(secret.parent), secret.parent.stat().st_gid) == (0o700, 0)


def test_pipes_are_given_without_waiting_and_devices_are_left_alone(volume: Path) -> None:
    os.mkfifo(volume / "pipe", 0o600)
    os.mknod(volume / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    give_files(volume, FileGroup(id=GROUP))
    assert ((volume / "pipe").stat().st_gid, mode(volume / "pipe")) == (GROUP, 0o660)
    assert ((volume / "device").stat().st_gid, mode(volume / "device")) == (0, 0o600)


def test_a_root_that_is_as_it_should_be_spares_the_files(volume: Path) -> None:
    (volume / "file").touch(mode=0o600)
    only_roots = FileGroup(id=GROUP, only_roots=True)
    give_files(volume, only_roots)
    assert mode(volume / "file") == 0o660
    (volume / "file").chmod(0o600)
    give_files(volume, only_roots)
    assert mode(volume / "file") == 0o600
    volume.chmod(0o700)
    give_files(volume, only_roots)
    assert mode(volume / "file") == 0o660


def test_a_root_that_is_a_link_is_refused(volume: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(volume)
    with pytest.raises(OSError, match="Not a directory"):
        give_files(link, FileGroup(id=GROUP))


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("few_descriptors")
def test_a_tree_may_be_deeper_than_paths_and_descriptors_reach(volume: Path) -> None:
    depth = 500
    handle = os.open(volume, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d" * 10, dir_fd=handle)
        below = os.open("d" * 10, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    give_files(volume, FileGroup(id=GROUP))
    assert os.fstat(handle).st_gid == GROUP
    os.close(handle)


def swap_at_every_moment(swap: Callable[[], object], volume: Path) -> Iterator[OSError | None]:
    """Give the files again and again, each time with one swap, a call into the system later.

    Tells each time why that failed, if it did. Ends with the walk in which there is no such call
    any more.
    """
    for moment in count():
        left = moment

        def before_a_call(_frame: FrameType, event: str, called: object) -> None:
            nonlocal left
            if event == "c_call" and getattr(called, "__module__", "") == "posix":
                left -= 1
                if left == -1:
                    sys.setprofile(None)
                    swap()

        failure: OSError | None = None
        sys.setprofile(before_a_call)
        try:
            give_files(volume, FileGroup(id=GROUP))
        except OSError as error:
            failure = error
        finally:
            sys.setprofile(None)
        yield failure
        if left >= 0:
            return


def test_a_file_that_is_swapped_for_a_link_gives_nothing_outside(
    volume: Path, secret: Path
) -> None:
    file, link = volume / "file", volume / "link"
    file.touch()
    link.symlink_to(secret)
    for failure in swap_at_every_moment(lambda: exchange(file, link), volume):
        assert failure is None
        assert (mode(secret), secret.stat().st_gid) == (PRIVATE, 0)


def test_a_directory_that_is_swapped_for_a_link_gives_nothing_outside(
    volume: Path, secret: Path
) -> None:
    inside, link = volume / "directory", volume / "link"
    inside.mkdir()
    (inside / secret.name).touch()
    link.symlink_to(secret.parent)
    for failure in swap_at_every_moment(lambda: exchange(inside, link), volume):
        assert failure is None
        assert (mode(secret), secret.stat().st_gid) == (PRIVATE, 0)
        assert (mode(secret.parent), secret.parent.stat().st_gid) == (0o700, 0)


def exchange(one: Path, other: Path) -> None:
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def test_a_directory_that_is_moved_away_ends_the_walk_instead_of_leading_it_out(
    volume: Path, secret: Path
) -> None:
    inside, elsewhere = volume / "directory", secret.parent / "directory"
    inside.mkdir()
    (inside / "file").touch()
    failures = []
    for failure in swap_at_every_moment(lambda: inside.rename(elsewhere), volume):
        assert (mode(secret), secret.stat().st_gid) == (PRIVATE, 0)
        assert (mode(secret.parent), secret.parent.stat().st_gid) == (0o700, 0)
        failures.append(str(failure))
        if elsewhere.exists():
            elsewhere.rename(inside)
    assert any("was moved" in failure for failure in failures)
