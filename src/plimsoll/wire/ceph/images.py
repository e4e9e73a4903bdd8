"""Images of RBD in one pool: made, removed, grown, copied.

librbd removes an image by way of the object `rbd_trash`, which it makes with the first removal. In
a full pool it cannot, and says that there is no such image. So the object is made with the first
image, and a removal that finds no image looks again. It says the same when it removes an image of
which only the name was written before its maker died: that is gone afterwards.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from plimsoll.wire.ceph.connection import CephConnection, Ioctx, PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.interfaces import OpenImage, RbdModule
from plimsoll.wire.ceph.running_calls import Progress

T = TypeVar("T")

TRASH = "rbd_trash"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFacts:
    id: str
    size_bytes: int
    snapshots: tuple[str, ...]
    data_pool_id: int
    has_parent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewImage:
    name: str
    size_bytes: int
    features: tuple[str, ...] = ("layering",)
    data_pool: str = ""
    """Empty: the pool of the image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRef:
    scope: PoolScope
    image: str
    snapshot: str


class RbdImages:
    """Those of one pool and namespace. Every method raises CephError."""

    def __init__(self, connection: CephConnection, scope: PoolScope) -> None:
        self._connection = connection
        self.scope = scope

    @property
    def _rbd(self) -> RbdModule:
        return self._connection.bindings.rbd

    async def names(self) -> list[str]:
        return await self._on_pool(lambda opened: self._rbd.RBD().list(opened))

    async def create(self, new: NewImage) -> None:
        def create(opened: Ioctx) -> None:
            self._make_trash(opened)
            self._rbd.RBD().create(
                opened,
                new.name,
                new.size_bytes,
                old_format=False,
                features=self._features(new),
                data_pool=new.data_pool or None,
            )

        await self._alone(new.name, create)

    def _features(self, new: NewImage) -> int:
        return self._rbd.RBD().features_from_string(",".join(new.features))

    def _make_trash(self, opened: Ioctx) -> None:
        rados = self._connection.bindings.rados
        with rados.WriteOpCtx() as operation:
            operation.new(rados.LIBRADOS_CREATE_IDEMPOTENT)
            opened.operate_write_op(operation, TRASH)

    async def remove(self, name: str) -> None:
        """No deadline as long as it goes on."""
        progress = Progress()
        await self._alone(name, lambda opened: self._remove(opened, name, progress), progress)

    def _remove(self, opened: Ioctx, name: str, progress: Progress) -> None:
        try:
            self._rbd.RBD().remove(opened, name, on_progress=progress.tell)
        except self._rbd.ImageNotFound:
            if name in self._rbd.RBD().list(opened):
                detail = f"image {name} cannot be moved to the trash"
                raise CephError(CephFailure.NO_ROOM, str(self.scope), detail) from None
            raise

    async def facts(self, name: str) -> ImageFacts:
        return await self._on_image(name, self._facts, read_only=True)

    def _facts(self, image: OpenImage) -> ImageFacts:
        return ImageFacts(
            id=image.id(),
            size_bytes=image.size(),
            snapshots=tuple(item["name"] for item in image.list_snaps()),
            data_pool_id=image.data_pool_id(),
            has_parent=self._has_parent(image),
        )

    def _has_parent(self, image: OpenImage) -> bool:
        try:
            image.parent_info()
        except self._rbd.ImageNotFound:
            return False
        return True

    async def grow(self, name: str, size_bytes: int) -> None:
        """Never shrinks."""

        def grow(image: OpenImage) -> None:
            if image.size() < size_bytes:
                image.resize(size_bytes)

        await self._on_image(name, grow)

    async def watchers(self, name: str) -> list[str]:
        """Addresses of the clients that have the image open, but for this one."""

        def found(image: OpenImage) -> list[str]:
            return [item["addr"] for item in image.watchers_list()]

        return await self._on_image(name, found, read_only=True)

    async def is_written(self, name: str) -> bool:
        """Whether any part of it, or of what it was cloned from, was ever written to."""

        def is_written(image: OpenImage) -> bool:
            found: list[bool] = []

            def note(_offset: int, _length: int, exists: bool) -> None:  # noqa: FBT001 - librbd's
                if exists:
                    found.append(exists)

            image.diff_iterate(0, image.size(), None, note, True, True)
            return bool(found)

        return await self._on_image(name, is_written, read_only=True)

    async def take_snapshot(self, name: str, snapshot: str) -> None:
        await self._on_image(name, lambda image: image.create_snap(snapshot))

    async def remove_snapshot(self, name: str, snapshot: str) -> None:
        await self._on_image(name, lambda image: image.remove_snap(snapshot))

    async def is_readable(self, name: str, snapshot: str) -> bool:
        """A snapshot that was taken in a full pool may exist and never be opened."""

        def is_readable(opened: Ioctx) -> bool:
            try:
                with self._rbd.Image(opened, name, snapshot=snapshot, read_only=True):
                    return True
            except self._rbd.ImageNotFound:
                return False

        return await self._alone(name, is_readable)

    async def clone(self, origin: SnapshotRef, new: NewImage) -> None:
        """From a snapshot in any pool of the cluster into this one."""

        def clone(opened: Sequence[Ioctx]) -> None:
            source, target = opened
            self._make_trash(target)
            self._rbd.RBD().clone(
                source,
                origin.image,
                origin.snapshot,
                target,
                new.name,
                features=self._features(new),
                data_pool=new.data_pool or None,
            )

        await self._connection.on_image((origin.scope, self.scope), new.name, clone)

    async def flatten(self, name: str) -> None:
        """Copies what a clone still reads from its origin; no deadline as long as it goes on."""
        progress = Progress()

        def flatten(opened: Ioctx) -> None:
            with self._rbd.Image(opened, name) as image:
                image.flatten(on_progress=progress.tell)

        await self._alone(name, flatten, progress)

    async def _on_image(
        self, name: str, function: Callable[[OpenImage], T], *, read_only: bool = False
    ) -> T:
        def call(opened: Ioctx) -> T:
            with self._rbd.Image(opened, name, read_only=read_only) as image:
                return function(image)

        return await self._alone(name, call)

    async def _alone(
        self, name: str, function: Callable[[Ioctx], T], progress: Progress | None = None
    ) -> T:
        return await self._connection.on_image(
            (self.scope,), name, lambda opened: function(opened[0]), progress=progress
        )

    async def _on_pool(self, function: Callable[[Ioctx], T]) -> T:
        return await self._connection.on_pool(self.scope, function)
