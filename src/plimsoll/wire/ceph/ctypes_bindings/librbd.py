"""The functions of librbd that are called, and their structures, as librbd.h declares them."""

from collections.abc import Sequence
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_bool,
    c_char_p,
    c_int,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint64,
    c_void_p,
)
from typing import Any, ClassVar

from plimsoll.wire.ceph.ctypes_bindings.librados import HANDLE, HANDLE_OUT
from plimsoll.wire.ceph.ctypes_bindings.shared_library import SharedLibrary

FORMAT, FEATURES, DATA_POOL = 0, 1, 10
"""Options of new images."""

DIFF_CALLBACK = CFUNCTYPE(c_int, c_uint64, c_size_t, c_int, c_void_p)
PROGRESS_CALLBACK = CFUNCTYPE(c_int, c_uint64, c_uint64, c_void_p)


class ImageSpec(Structure):
    _fields_: ClassVar[Sequence[Any]] = (("id", c_char_p), ("name", c_char_p))


class ParentImage(Structure):
    _fields_: ClassVar[Sequence[Any]] = (
        ("pool_id", c_int64),
        ("pool_name", c_char_p),
        ("pool_namespace", c_char_p),
        ("image_id", c_char_p),
        ("image_name", c_char_p),
        ("trash", c_bool),
    )


class ParentSnapshot(Structure):
    _fields_: ClassVar[Sequence[Any]] = (
        ("id", c_uint64),
        ("namespace_type", c_int),
        ("name", c_char_p),
    )


class SnapshotInfo(Structure):
    _fields_: ClassVar[Sequence[Any]] = (("id", c_uint64), ("size", c_uint64), ("name", c_char_p))


class ImageWatcher(Structure):
    _fields_: ClassVar[Sequence[Any]] = (("addr", c_char_p), ("id", c_int64), ("cookie", c_uint64))


LIBRBD = SharedLibrary(
    "librbd.so.1",
    {
        "rbd_list2": (c_int, HANDLE, POINTER(ImageSpec), POINTER(c_size_t)),
        "rbd_image_spec_list_cleanup": (None, POINTER(ImageSpec), c_size_t),
        "rbd_features_from_string": (c_int, c_char_p, POINTER(c_uint64)),
        "rbd_image_options_create": (None, HANDLE_OUT),
        "rbd_image_options_destroy": (None, HANDLE),
        "rbd_image_options_set_uint64": (c_int, HANDLE, c_int, c_uint64),
        "rbd_image_options_set_string": (c_int, HANDLE, c_int, c_char_p),
        "rbd_create4": (c_int, HANDLE, c_char_p, c_uint64, HANDLE),
        "rbd_clone3": (c_int, HANDLE, c_char_p, c_char_p, HANDLE, c_char_p, HANDLE),
        "rbd_remove_with_progress": (c_int, HANDLE, c_char_p, PROGRESS_CALLBACK, c_void_p),
        "rbd_open": (c_int, HANDLE, c_char_p, HANDLE_OUT, c_char_p),
        "rbd_open_read_only": (c_int, HANDLE, c_char_p, HANDLE_OUT, c_char_p),
        "rbd_close": (c_int, HANDLE),
        "rbd_get_id": (c_int, HANDLE, c_char_p, c_size_t),
        "rbd_get_size": (c_int, HANDLE, POINTER(c_uint64)),
        "rbd_get_data_pool_id": (c_int64, HANDLE),
        "rbd_get_parent": (c_int, HANDLE, POINTER(ParentImage), POINTER(ParentSnapshot)),
        "rbd_linked_image_spec_cleanup": (None, POINTER(ParentImage)),
        "rbd_snap_spec_cleanup": (None, POINTER(ParentSnapshot)),
        "rbd_snap_list": (c_int, HANDLE, POINTER(SnapshotInfo), POINTER(c_int)),
        "rbd_snap_list_end": (None, POINTER(SnapshotInfo)),
        "rbd_watchers_list": (c_int, HANDLE, POINTER(ImageWatcher), POINTER(c_size_t)),
        "rbd_watchers_list_cleanup": (None, POINTER(ImageWatcher), c_size_t),
        "rbd_resize": (c_int, HANDLE, c_uint64),
        "rbd_snap_create": (c_int, HANDLE, c_char_p),
        "rbd_snap_remove": (c_int, HANDLE, c_char_p),
        "rbd_flatten_with_progress": (c_int, HANDLE, PROGRESS_CALLBACK, c_void_p),
        "rbd_diff_iterate2": (
            *(c_int, HANDLE, c_char_p, c_uint64, c_uint64, c_uint8, c_uint8),
            *(DIFF_CALLBACK, c_void_p),
        ),
    },
)
