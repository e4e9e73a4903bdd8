"""Copies of images: whole, so that neither keeps the other from being deleted.

A copy begins as a clone of a snapshot that is taken for it, reads everything that it shares, and
the snapshot is removed. It is made at a place that no other call has had: one that was interrupted
is not gone on with, since another call may have finished it by now.
"""

from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.images import NewImage, RbdImages, SnapshotRef

SNAPSHOT_PREFIX = "plimsoll-for-"


async def copy_image(source: RbdImages, origin: str, target: RbdImages, new: NewImage) -> None:
    """Raises CephError."""
    snapshot = SNAPSHOT_PREFIX + new.name
    try:
        await source.take_snapshot(origin, snapshot)
        if not await source.is_readable(origin, snapshot):
            detail = f"the snapshot of {origin} cannot be read"
            raise CephError(CephFailure.NO_ROOM, str(source.scope), detail)
        await target.clone(SnapshotRef(scope=source.scope, image=origin, snapshot=snapshot), new)
        await target.flatten(new.name)
    finally:
        await _remove_snapshot(source, origin, snapshot)
    await target.grow(new.name, new.size_bytes)


async def _remove_snapshot(images: RbdImages, name: str, snapshot: str) -> None:
    if snapshot in (await images.facts(name)).snapshots:
        await images.remove_snapshot(name, snapshot)


async def remove_copy_snapshot(images: RbdImages, name: str, copy: str) -> None:
    """What the copy of that name left, which was interrupted. Raises CephError."""
    if SNAPSHOT_PREFIX + copy in await _snapshots(images, name):
        await images.remove_snapshot(name, SNAPSHOT_PREFIX + copy)


async def remove_copy_snapshots(images: RbdImages, name: str) -> None:
    """What copies left that were interrupted; the image is being removed, so none is made any more.
    Raises CephError."""
    for snapshot in await _snapshots(images, name):
        if snapshot.startswith(SNAPSHOT_PREFIX):
            await images.remove_snapshot(name, snapshot)


async def _snapshots(images: RbdImages, name: str) -> tuple[str, ...]:
    """None of an image that is gone."""
    try:
        return (await images.facts(name)).snapshots
    except CephError as error:
        if error.failure is CephFailure.NOT_FOUND:
            return ()
        raise
