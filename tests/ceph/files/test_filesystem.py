import asyncio
import itertools
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.files.filesystem import CephFilesystem
from plimsoll.wire.ceph.files.worker_process import WorkerProcess
from tests.ceph.cluster_filesystem import DATA_POOLS, ClusterFilesystem
from tests.ceph.files.filesystems import MIB, SLOWEST, files, mounted

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")

POOL_A, POOL_B = DATA_POOLS["zone-a"], DATA_POOLS["zone-b"]
VOLUME, OTHER = "/tested/volumes/one", "/tested/volumes/two"


@pytest.fixture
async def fs(filesystem: ClusterFilesystem) -> AsyncIterator[CephFilesystem]:
    async with files(filesystem) as made:
        yield made
        for path in (VOLUME, OTHER):
            for name in await snapshots(made, path):
                await made.remove_snapshot(path, name)
        await made.remove_tree("/tested")


async def snapshots(fs: CephFilesystem, path: str) -> tuple[str, ...]:
    try:
        return (await fs.facts(path)).snapshots
    except CephError as error:
        if error.failure is not CephFailure.NOT_FOUND:
            raise
        return ()


async def make(fs: CephFilesystem, path: str = VOLUME, pool: str = POOL_A) -> None:
    await fs.make_directory(path, quota_bytes=64 * MIB, pool=pool)


@pytest.mark.both_bindings
async def test_a_directory_has_its_quota_and_its_pool_however_often_it_is_made(
    fs: CephFilesystem,
) -> None:
    await make(fs)
    await make(fs)
    facts = await fs.facts(VOLUME)
    assert (facts.quota_bytes, facts.pool, facts.used_bytes) == (64 * MIB, POOL_A, 0)
    assert await fs.names("/tested/volumes") == ("one",)


async def test_a_mounted_directory_shows_its_quota_and_refuses_what_exceeds_it(
    fs: CephFilesystem, filesystem: ClusterFilesystem
) -> None:
    await make(fs)
    with mounted(filesystem, VOLUME) as place:
        assert os.statvfs(place).f_blocks * os.statvfs(place).f_frsize == 64 * MIB
        await fs.set_quota(VOLUME, 128 * MIB)
        await until(lambda: os.statvfs(place).f_blocks * os.statvfs(place).f_frsize == 128 * MIB)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_so():  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.1)


@pytest.mark.both_bindings
async def test_a_pool_that_the_file_system_does_not_have_is_refused(fs: CephFilesystem) -> None:
    with pytest.raises(CephError) as caught:
        await make(fs, pool="rbd-zone-a")
    assert caught.value.failure is CephFailure.REJECTED


@pytest.mark.both_bindings
async def test_facts_of_a_directory_that_is_not_there(fs: CephFilesystem) -> None:
    with pytest.raises(CephError) as caught:
        await fs.facts("/tested/volumes/none")
    assert caught.value.failure is CephFailure.NOT_FOUND


async def test_a_large_tree_is_removed_in_steps(
    fs: CephFilesystem, filesystem: ClusterFilesystem
) -> None:
    await make(fs)
    with mounted(filesystem, VOLUME) as place:
        await asyncio.to_thread(grow_tree, place)
    await fs.remove_tree(VOLUME)
    await fs.remove_tree(VOLUME)
    assert await fs.names("/tested/volumes") == ()


def grow_tree(place: Path) -> None:
    for number in range(30):
        below = place / f"d{number}" / "deep" / "deeper"
        below.mkdir(parents=True)
        for other in range(20):
            (below / f"f{other}").write_text("x")
    deepest = place
    for _ in range(40):
        deepest = deepest / "down"
        deepest.mkdir()


@pytest.mark.both_bindings
async def test_a_directory_with_snapshots_stays_and_is_empty(
    fs: CephFilesystem, filesystem: ClusterFilesystem
) -> None:
    await make(fs)
    with mounted(filesystem, VOLUME) as place:
        (place / "f").write_text("kept")
    await fs.take_snapshot(VOLUME, "s")
    await fs.take_snapshot(VOLUME, "s")
    await fs.remove_tree(VOLUME)
    assert (await fs.facts(VOLUME)).snapshots == ("s",)
    assert await fs.names(VOLUME) == ()
    assert await fs.names(f"{VOLUME}/.snap/s") == ("f",)
    await fs.move(VOLUME, "/tested/removed/one")
    await fs.move(VOLUME, "/tested/removed/one")
    await fs.remove_snapshot("/tested/removed/one", "s")
    await fs.remove_snapshot("/tested/removed/one", "s")
    await fs.remove_tree("/tested/removed/one")
    assert await fs.names("/tested/removed") == ()


@pytest.mark.both_bindings
async def test_links_lead_where_they_were_made_to(fs: CephFilesystem) -> None:
    await fs.make_link("/tested/copies/two", "one")
    await fs.make_link("/tested/copies/two", "one")
    assert await fs.read_link("/tested/copies/two") == "one"
    await fs.remove_link("/tested/copies/two")
    await fs.remove_link("/tested/copies/two")
    assert not await fs.read_link("/tested/copies/two")


def fill(place: Path) -> None:
    """One of each kind, with what else can be noticed about it."""
    (place / "plain").write_bytes(os.urandom(3 * MIB + 17))
    (place / "empty").touch()
    (place / "dir").mkdir(mode=0o750)
    (place / "dir" / "file").write_text("text")
    os.chown(place / "dir" / "file", 1000, 2000)
    (place / "dir" / "file").chmod(0o4750)
    os.link(place / "plain", place / "dir" / "same")
    (place / "link").symlink_to("dir/file")
    (place / "dangling").symlink_to("/nowhere")
    os.mkfifo(place / "pipe", 0o640)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.path.relpath(place / "socket"))
    listening.close()
    with (place / "sparse").open("wb") as sparse:
        sparse.seek(40 * MIB)
        sparse.write(b"end")
    (place / ".plimsoll-copying").write_text("a name that the copy would use itself")
    (place / "name with \udcff byte").write_text("x")
    (place / "long").symlink_to("x/" * 350 + "x")
    os.setxattr(place / "dir", "user.colour", b"\0blue")
    os.setxattr(place / "dir", "user.story", b"long" * 300)
    os.setxattr(place / "empty", "user." + "n" * 200, b"")
    os.setxattr(place / "empty", "user." + "m" * 200, b"")
    os.utime(place / "dir" / "file", (1_000_000, 1_500_000_000))
    os.utime(place / "dir", (1_000_000, 1_400_000_000))


def seen(root: Path) -> dict[str, object]:
    """Everything below a directory that a user could compare."""
    found: dict[str, object] = {}
    first_names: dict[int, str] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        facts = path.lstat()
        content: object = None
        if path.is_symlink():
            content = path.readlink()
        elif path.is_file():
            content = path.read_bytes()
        attributes = (
            {} if path.is_symlink() else {key: os.getxattr(path, key) for key in os.listxattr(path)}
        )
        found[name] = (
            facts.st_mode,
            facts.st_uid,
            facts.st_gid,
            int(facts.st_mtime),
            facts.st_size if path.is_file() else 0,
            content,
            attributes,
            first_names.setdefault(facts.st_ino, name),
        )
    return found


@pytest.mark.both_bindings
async def test_a_copy_is_the_same_in_everything_and_in_another_zone(
    fs: CephFilesystem, filesystem: ClusterFilesystem
) -> None:
    await make(fs)
    with mounted(filesystem, VOLUME) as place:
        await asyncio.to_thread(fill, place)
        before = await asyncio.to_thread(seen, place)
    await fs.take_snapshot(VOLUME, "s")
    await make(fs, OTHER, POOL_B)
    await fs.copy_tree(f"{VOLUME}/.snap/s", OTHER)
    await fs.remove_snapshot(VOLUME, "s")
    await fs.remove_tree(VOLUME)
    with mounted(filesystem, OTHER) as place:
        assert await asyncio.to_thread(seen, place) == before
        assert os.getxattr(place / "plain", "ceph.file.layout.pool") == POOL_B.encode()
    facts = await fs.facts(OTHER)
    assert (facts.pool, facts.quota_bytes) == (POOL_B, 64 * MIB)


async def test_a_copy_goes_on_where_its_worker_was_killed(
    fs: CephFilesystem, filesystem: ClusterFilesystem
) -> None:
    await make(fs)
    with mounted(filesystem, VOLUME) as place:
        await asyncio.to_thread(fill, place)
        await asyncio.to_thread(grow_tree, place)
        before = await asyncio.to_thread(seen, place)
    await fs.take_snapshot(VOLUME, "s")
    await make(fs, OTHER, POOL_B)
    workers: list[WorkerProcess] = []
    async with files(filesystem, on_start=workers.append) as killed:
        for delay in (0.05, 0.3, 0.6, 1.0):
            async with asyncio.TaskGroup() as group:
                copying = group.create_task(outcome(killed))
                while not workers:  # noqa: ASYNC110 - a short time
                    await asyncio.sleep(0.01)
                await asyncio.sleep(delay)
                workers.pop().kill()
            assert copying.result() in (None, CephFailure.FAILED)
        await killed.copy_tree(f"{VOLUME}/.snap/s", OTHER)
    with mounted(filesystem, OTHER) as place:
        assert await asyncio.to_thread(seen, place) == before


async def outcome(fs: CephFilesystem) -> CephFailure | None:
    try:
        await fs.copy_tree(f"{VOLUME}/.snap/s", OTHER)
    except CephError as error:
        return error.failure
    return None


async def test_without_a_metadata_server_calls_end_within_their_limit(
    fs: CephFilesystem, filesystem: ClusterFilesystem
) -> None:
    await make(fs)
    with filesystem.unserved():
        begun = time.monotonic()
        ended = await asyncio.gather(
            *(fs.facts(VOLUME) for _ in range(5)), fs.remove_tree(OTHER), return_exceptions=True
        )
        assert time.monotonic() - begun < SLOWEST
        for error in ended:
            assert isinstance(error, CephError)
            assert error.failure is CephFailure.TIMED_OUT
        begun = time.monotonic()
        with pytest.raises(CephError, match="file system csi did not answer in time"):
            await fs.facts(VOLUME)
        assert time.monotonic() - begun < SLOWEST
    assert (await fs.facts(VOLUME)).pool == POOL_A


async def given_up(call: Callable[[], Awaitable[None]]) -> int:
    """How many calls were, until one was answered."""
    for number in itertools.count():
        try:
            await call()
        except CephError as error:
            if error.failure is not CephFailure.TIMED_OUT:
                raise
        else:
            return number
    raise AssertionError


async def test_a_failover_is_at_most_one_call_that_is_given_up(
    fs: CephFilesystem, filesystem: ClusterFilesystem
) -> None:
    await make(fs)
    with filesystem.without_active():
        assert await given_up(lambda: make(fs, OTHER)) <= 1


async def test_a_hung_metadata_server_is_a_call_that_is_given_up(
    fs: CephFilesystem, filesystem: ClusterFilesystem
) -> None:
    await make(fs)
    with filesystem.without_active(signal.SIGSTOP):
        assert await given_up(lambda: fs.set_quota(VOLUME, 32 * MIB)) <= 2
    assert (await fs.facts(VOLUME)).quota_bytes == 32 * MIB


@pytest.mark.both_bindings
async def test_a_worker_that_was_killed_keeps_no_other_client_waiting(
    filesystem: ClusterFilesystem, fs: CephFilesystem
) -> None:
    workers: list[WorkerProcess] = []
    async with files(filesystem, on_start=workers.append) as killed:
        await make(killed)
        workers[0].kill()
        begun = time.monotonic()
        with pytest.raises(CephError):
            await killed.facts(VOLUME)
        await make(killed)
        await make(fs)
        assert time.monotonic() - begun < 5
    assert workers[0].address in filesystem.blocklist()


async def test_content_for_a_zone_that_is_down_is_an_error_within_seconds(
    fs: CephFilesystem, filesystem: ClusterFilesystem
) -> None:
    await make(fs)
    with mounted(filesystem, VOLUME) as place:
        (place / "f").write_bytes(os.urandom(MIB))
    await fs.take_snapshot(VOLUME, "s")
    await make(fs, OTHER, POOL_B)
    with filesystem.cluster.dead_zone("zone-b"):
        begun = time.monotonic()
        with pytest.raises(CephError) as caught:
            await fs.copy_tree(f"{VOLUME}/.snap/s", OTHER)
        assert caught.value.failure is CephFailure.TIMED_OUT
        assert time.monotonic() - begun < SLOWEST
        await fs.set_quota(VOLUME, 32 * MIB)
    await fs.copy_tree(f"{VOLUME}/.snap/s", OTHER)
    assert await fs.names(OTHER) == ("f",)


async def test_the_key_is_in_no_argument_and_no_environment(
    filesystem: ClusterFilesystem,
) -> None:
    workers: list[WorkerProcess] = []
    async with files(filesystem, on_start=workers.append) as fs:
        await fs.names("/")
        own = Path(f"/proc/{workers[0].pid}")
        for file in ("cmdline", "environ"):
            assert filesystem.key.encode() not in (own / file).read_bytes()
