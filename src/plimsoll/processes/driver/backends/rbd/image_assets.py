"""Images as assets of the journal: made empty, and removed, however often."""

from plimsoll.decide.ceph.journal.operations import RemoveImage
from plimsoll.processes.driver.backends.ceph.records.journaled_assets import SpoiltPlaceError
from plimsoll.wire.ceph.connection import CephConnection, PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.images import NewImage, RbdImages


async def make_empty(images: RbdImages, new: NewImage) -> None:
    """The image, also if an earlier attempt has made it. Raises SpoiltPlaceError if that was cut
    off half-way, or made another size; CephError."""
    try:
        await images.create(new)
    except CephError as error:
        if error.failure is not CephFailure.EXISTS:
            raise
        if not await _is_as_wanted(images, new):
            raise SpoiltPlaceError(f"{images.scope}: image {new.name}") from error


async def remove_if_there(images: RbdImages, name: str) -> None:
    try:
        await images.remove(name)
    except CephError as error:
        if error.failure is not CephFailure.NOT_FOUND:
            raise


async def _is_as_wanted(images: RbdImages, new: NewImage) -> bool:
    """An attempt that was cut off in the middle leaves a name without an image."""
    try:
        return (await images.facts(new.name)).size_bytes == new.size_bytes
    except CephError as error:
        if error.failure is CephFailure.NOT_FOUND:
            return False
        raise


class ImageRemoval:
    """What the journal removes when an attempt was given up."""

    def __init__(self, connection: CephConnection) -> None:
        self._connection = connection

    async def __call__(self, removed: RemoveImage) -> None:
        scope = PoolScope(pool=removed.pool, namespace=removed.namespace)
        await RbdImages(self._connection, scope).remove(removed.name)
