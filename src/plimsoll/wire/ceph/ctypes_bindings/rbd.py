"""The part of Debian's module `rbd` that is called, on librbd itself."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
from typing import Any

from plimsoll.wire.ceph.ctypes_bindings.library_errors import LibraryError, NotFoundError
from plimsoll.wire.ceph.ctypes_bindings.librbd import (
    DATA_POOL,
    DIFF_CALLBACK,
    FEATURES,
    FORMAT,
    LIBRBD,
    PROGRESS_CALLBACK,
    ImageSpec,
    ImageWatcher,
    ParentImage,
    ParentSnapshot,
    SnapshotInfo,
)
from plimsoll.wire.ceph.ctypes_bindings.rados import pool_handle
from plimsoll.wire.ceph.ctypes_bindings.shared_library import Releasable
from plimsoll.wire.ceph.interfaces import OnProgress, OpenPool

Error = LibraryError
ImageNotFound = NotFoundError


class RBD:
    def list(self, pool: OpenPool, /) -> list[str]:
        count = c_size_t()
        images = LIBRBD.listed("rbd_list2", ImageSpec, count, pool_handle(pool))
        try:
            return [item.name.decode() for item in images[: count.value]]
        finally:
            LIBRBD.run("rbd_image_spec_list_cleanup", images, count)

    def remove(self, pool: OpenPool, name: str, /, on_progress: OnProgress) -> None:
        told = _progress(on_progress)
        LIBRBD.call("rbd_remove_with_progress", pool_handle(pool), name.encode(), told, None)

    def features_from_string(self, names: str, /) -> int:
        number = c_uint64()
        LIBRBD.call("rbd_features_from_string", names.encode(), byref(number))
        return number.value

    def create(
        self,
        pool: OpenPool,
        name: str,
        size: int,
        /,
        *,
        old_format: bool,
        features: int,
        data_pool: str | None,
    ) -> None:
        with _options(features, data_pool) as options:
            LIBRBD.call("rbd_image_options_set_uint64", options, FORMAT, 1 if old_format else 2)
            LIBRBD.call("rbd_create4", pool_handle(pool), name.encode(), size, options)

    def clone(
        self,
        pool: OpenPool,
        name: str,
        snapshot: str,
        to_pool: OpenPool,
        to_name: str,
        /,
        *,
        features: int,
        data_pool: str | None,
    ) -> None:
        with _options(features, data_pool) as options:
            LIBRBD.call(
                "rbd_clone3",
                *(pool_handle(pool), name.encode(), snapshot.encode()),
                *(pool_handle(to_pool), to_name.encode(), options),
            )


@contextmanager
def _options(features: int, data_pool: str | None) -> Iterator[c_void_p]:
    options = c_void_p()
    LIBRBD.run("rbd_image_options_create", byref(options))
    try:
        LIBRBD.call("rbd_image_options_set_uint64", options, FEATURES, features)
        if data_pool is not None:
            LIBRBD.call("rbd_image_options_set_string", options, DATA_POOL, data_pool.encode())
        yield options
    finally:
        LIBRBD.run("rbd_image_options_destroy", options)


def _progress(on_progress: OnProgress) -> Any:
    """To be held by a name until librbd has called it for the last time."""

    def tell(done: int, all_: int, _: object) -> int:
        return on_progress(done, all_)

    return PROGRESS_CALLBACK(tell)


class Image(Releasable):
    """An open image."""

    def __init__(
        self, pool: OpenPool, name: str, /, *, snapshot: str | None = None, read_only: bool = False
    ) -> None:
        self._pool = pool
        self._handle = c_void_p()
        function = "rbd_open_read_only" if read_only else "rbd_open"
        at = None if snapshot is None else snapshot.encode()
        LIBRBD.call(function, pool_handle(pool), name.encode(), byref(self._handle), at)

    def release(self) -> None:
        LIBRBD.call("rbd_close", self._handle)

    def id(self) -> str:
        return LIBRBD.filled("rbd_get_id", self._handle).decode()

    def size(self) -> int:
        found = c_uint64()
        LIBRBD.call("rbd_get_size", self._handle, byref(found))
        return found.value

    def data_pool_id(self) -> int:
        return LIBRBD.call("rbd_get_data_pool_id", self._handle)

    def list_snaps(self) -> list[dict[str, str]]:
        found = LIBRBD.listed("rbd_snap_list", SnapshotInfo, c_int(), self._handle)
        try:
            return [{"name": item.name.decode()} for item in found if item.name]
        finally:
            LIBRBD.run("rbd_snap_list_end", found)

    def watchers_list(self) -> list[dict[str, str]]:
        count = c_size_t()
        found = LIBRBD.listed("rbd_watchers_list", ImageWatcher, count, self._handle)
        try:
            return [{"addr": item.addr.decode()} for item in found[: count.value]]
        finally:
            LIBRBD.run("rbd_watchers_list_cleanup", found, count)

    def parent_info(self) -> str:
        """The name of the image that it was cloned from. Raises ImageNotFound if it was not."""
        image, snapshot = ParentImage(), ParentSnapshot()
        LIBRBD.call("rbd_get_parent", self._handle, byref(image), byref(snapshot))
        try:
            return str(image.image_name.decode())
        finally:
            LIBRBD.run("rbd_linked_image_spec_cleanup", byref(image))
            LIBRBD.run("rbd_snap_spec_cleanup", byref(snapshot))

    def resize(self, size: int, /) -> None:
        LIBRBD.call("rbd_resize", self._handle, size)

    def create_snap(self, name: str, /) -> None:
        LIBRBD.call("rbd_snap_create", self._handle, name.encode())

    def remove_snap(self, name: str, /) -> None:
        LIBRBD.call("rbd_snap_remove", self._handle, name.encode())

    def flatten(self, on_progress: OnProgress) -> None:
        told = _progress(on_progress)
        LIBRBD.call("rbd_flatten_with_progress", self._handle, told, None)

    def diff_iterate(
        self,
        offset: int,
        length: int,
        from_snapshot: str | None,
        iterate_cb: Callable[[int, int, bool], None],
        include_parent: bool,
        whole_object: bool,
        /,
    ) -> None:
        """The callback raises nothing: C knows no exceptions."""

        def tell(at: int, size: int, exists: int, _: object) -> int:
            iterate_cb(at, size, bool(exists))
            return 0

        # Held by this name until librbd has called it for the last time.
        told = DIFF_CALLBACK(tell)
        since = None if from_snapshot is None else from_snapshot.encode()
        LIBRBD.call(
            "rbd_diff_iterate2",
            *(self._handle, since, offset, length, include_parent, whole_object, told, None),
        )
