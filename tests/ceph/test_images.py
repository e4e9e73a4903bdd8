from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from plimsoll.wire.ceph.connection import CephConnection, Ioctx, PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.images import NewImage, RbdImages, SnapshotRef
from plimsoll.wire.ceph.objects import Creating, ObjectWrite, RadosObjects
from tests.ceph.connections import connected
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster

A, B = (PoolScope(pool=POOLS[zone]) for zone in ("zone-a", "zone-b"))
MIB = 1 << 20
NEW = NewImage(name="image", size_bytes=64 * MIB)
LAYERS = ("layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten")

pytestmark = pytest.mark.both_bindings


@pytest.fixture
async def connection(cluster: LoopbackCluster) -> AsyncIterator[CephConnection]:
    async with connected(cluster) as made:
        yield made
        for scope in (B, A):
            await _clear(RbdImages(made, scope))


async def _clear(images: RbdImages) -> None:
    for name in await images.names():
        for snapshot in (await images.facts(name)).snapshots:
            await images.remove_snapshot(name, snapshot)
        await images.remove(name)


async def failure(call: Awaitable[object]) -> CephFailure:
    with pytest.raises(CephError) as raised:
        await call
    return raised.value.failure


async def test_an_image_is_made_grown_and_removed(connection: CephConnection) -> None:
    images = RbdImages(connection, A)
    await images.create(NEW)
    assert await failure(images.create(NEW)) is CephFailure.EXISTS
    await images.grow("image", 128 * MIB)
    await images.grow("image", 96 * MIB)
    facts = await images.facts("image")
    assert (facts.size_bytes, facts.snapshots, facts.has_parent) == (128 * MIB, (), False)
    assert facts.id
    await images.remove("image")
    assert await images.names() == []
    assert await failure(images.remove("image")) is CephFailure.NOT_FOUND
    assert await failure(images.facts("image")) is CephFailure.NOT_FOUND


async def test_data_can_be_in_another_pool(connection: CephConnection) -> None:
    images = RbdImages(connection, A)
    await images.create(NewImage(name="image", size_bytes=MIB, data_pool=B.pool))
    ids = await connection.pool_ids()
    assert (await images.facts("image")).data_pool_id == ids[B.pool]


async def test_images_and_snapshots_are_listed_however_many_there_are(
    connection: CephConnection,
) -> None:
    images = RbdImages(connection, A)
    names = [f"image-{number:02}" for number in range(17)]
    for name in names:
        await images.create(NewImage(name=name, size_bytes=MIB))
        await images.take_snapshot(names[0], f"of-{name}")
    assert await images.names() == names
    facts = await images.facts(names[0])
    assert facts.snapshots == tuple(f"of-{name}" for name in names)


async def test_a_client_that_has_an_image_open_is_told_by_address(
    cluster: LoopbackCluster, connection: CephConnection
) -> None:
    images = RbdImages(connection, A)
    await images.create(NEW)
    assert await images.watchers("image") == []
    async with connected(cluster) as other:

        def look(opened: Ioctx) -> list[str]:
            with other.bindings.rbd.Image(opened, "image") as image:
                return [item["addr"] for item in image.watchers_list()]

        address = await other.address()
        assert await other.on_pool(A, look) == [address]
    assert await images.watchers("image") == []


async def test_an_image_is_written_from_its_first_byte_on(
    cluster: LoopbackCluster, connection: CephConnection
) -> None:
    images = RbdImages(connection, A)
    await images.create(NEW)
    assert not await images.is_written("image")
    cluster.on_image(A.pool, "image", lambda image: image.write(b"x", 63 * MIB))
    assert await images.is_written("image")


@pytest.mark.parametrize("target", [A, B], ids=["same-pool", "other-pool"])
async def test_a_clone_is_made_of_a_snapshot(connection: CephConnection, target: PoolScope) -> None:
    images = RbdImages(connection, A)
    await images.create(NEW)
    await images.take_snapshot("image", "then")
    assert await images.is_readable("image", "then")
    assert await failure(images.remove("image")) is CephFailure.HAS_SNAPSHOTS
    clones = RbdImages(connection, target)
    origin = SnapshotRef(scope=A, image="image", snapshot="then")
    await clones.clone(origin, NewImage(name="clone", size_bytes=0))
    assert (await clones.facts("clone")).has_parent
    await clones.flatten("clone")
    facts = await clones.facts("clone")
    assert (facts.has_parent, facts.size_bytes) == (False, 64 * MIB)
    await images.remove_snapshot("image", "then")
    await images.remove("image")


async def test_copying_and_removing_tell_of_each_step(
    cluster: LoopbackCluster, connection: CephConnection
) -> None:
    images = RbdImages(connection, A)
    await images.create(NEW)
    cluster.on_image(A.pool, "image", lambda image: image.write(b"x", 63 * MIB))
    await images.take_snapshot("image", "then")
    origin = SnapshotRef(scope=A, image="image", snapshot="then")
    await images.clone(origin, NewImage(name="clone", size_bytes=0))
    rbd, told = connection.bindings.rbd, Counter[str]()

    def tells(what: str) -> Callable[[int, int], int]:
        def tell(done: int, all_: int) -> int:
            assert done <= all_
            told[what] += 1
            return 0

        return tell

    def copy_and_remove(opened: Ioctx) -> None:
        with rbd.Image(opened, "clone") as image:
            image.flatten(on_progress=tells("flatten"))
        rbd.RBD().remove(opened, "clone", on_progress=tells("remove"))

    await connection.on_pool(A, copy_and_remove)
    assert min(told["flatten"], told["remove"]) >= 64 // 4
    await images.remove_snapshot("image", "then")
    await images.remove("image")


async def test_a_full_pool_takes_nothing_and_lets_go(
    cluster: LoopbackCluster, connection: CephConnection
) -> None:
    images = RbdImages(connection, A)
    await images.create(NEW)
    with cluster.quota(A.pool, 4 * MIB):
        cluster.fill(A.pool, 8 * MIB)
        new = NewImage(name="another", size_bytes=MIB)
        assert await failure(images.create(new)) is CephFailure.NO_ROOM
        await images.remove("image")
        cluster.empty(A.pool)
    assert await images.names() == []


async def test_a_name_without_an_image_is_removed(connection: CephConnection) -> None:
    """librbd writes it first. It creates no image of that name then, and reports to remove none."""
    images, objects = RbdImages(connection, A), RadosObjects(connection, A)
    await objects.write("rbd_id.image", ObjectWrite(creating=Creating.EXCLUSIVE))
    assert await failure(images.create(NEW)) is CephFailure.EXISTS
    assert await failure(images.remove("image")) is CephFailure.NOT_FOUND
    await images.create(NEW)


async def test_an_image_that_a_full_pool_keeps_is_not_taken_for_removed(
    cluster: LoopbackCluster, connection: CephConnection
) -> None:
    """librbd reports that there is no such image if no image was removed before."""
    images = RbdImages(connection, A)
    await images.create(NEW)
    await RadosObjects(connection, A).remove("rbd_trash")
    with cluster.quota(A.pool, 4 * MIB):
        cluster.fill(A.pool, 8 * MIB)
        assert await failure(images.remove("image")) is CephFailure.NO_ROOM
        cluster.empty(A.pool)
    await images.remove("image")
    assert await images.names() == []


async def test_a_snapshot_of_a_full_pool_tells_whether_it_can_be_read(
    cluster: LoopbackCluster, connection: CephConnection
) -> None:
    images = RbdImages(connection, A)
    await images.create(NEW)
    await images.create(NewImage(name="layers", size_bytes=MIB, features=LAYERS))
    with cluster.quota(A.pool, 4 * MIB):
        cluster.fill(A.pool, 8 * MIB)
        for name in ("image", "layers"):
            await images.take_snapshot(name, "then")
        assert await images.is_readable("image", "then")
        assert not await images.is_readable("layers", "then")
        cluster.empty(A.pool)


async def test_an_image_in_a_dead_zone_is_not_waited_for(
    cluster: LoopbackCluster, connection: CephConnection
) -> None:
    images = RbdImages(connection, A)
    await images.create(NEW)
    with cluster.dead_zone("zone-a"):
        assert await failure(images.facts("image")) is CephFailure.TIMED_OUT
        assert await failure(images.remove("image")) is CephFailure.TIMED_OUT
        assert await RbdImages(connection, B).names() == []
    assert (await images.facts("image")).size_bytes == 64 * MIB
