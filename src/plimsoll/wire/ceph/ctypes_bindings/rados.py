"""The part of Debian's module `rados` that is called, on librados itself."""

import ctypes
import errno
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref, c_char_p, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass

from plimsoll.wire.ceph.ctypes_bindings import operations
from plimsoll.wire.ceph.ctypes_bindings.librados import LIBRADOS
from plimsoll.wire.ceph.ctypes_bindings.library_errors import (
    LibraryError,
    NotFoundError,
    library_error,
)
from plimsoll.wire.ceph.ctypes_bindings.shared_library import Releasable, copied
from plimsoll.wire.ceph.interfaces import OpenPool, ReadOperation, WriteOperation

Error = LibraryError
ObjectNotFound = NotFoundError
ReadOpCtx = operations.ReadOpCtx
WriteOpCtx = operations.WriteOpCtx
LIBRADOS_CREATE_IDEMPOTENT = 0
LIBRADOS_CREATE_EXCLUSIVE = 1
LIBRADOS_CMPXATTR_OP_EQ = 1
NO_FLAGS = 0


class Rados:
    """A connection. Pools that are open keep it; without them it ends when it is dropped.

    Then it is shut down in a thread of its own: the event loop may be what drops it.
    """

    def __init__(self, *, rados_id: str, conf: Mapping[str, str]) -> None:
        handle = c_void_p()
        name = f"client.{rados_id}".encode()
        LIBRADOS.call("rados_create2", byref(handle), b"ceph", name, NO_FLAGS)
        self._dropped = weakref.finalize(self, _shut_down_beside, handle)
        # At the end of the process calls may still be inside, and would be left without memory.
        self._dropped.atexit = False
        self._own_handle = handle
        for option, value in conf.items():
            LIBRADOS.call("rados_conf_set", handle, option.encode(), value.encode())

    @property
    def _handle(self) -> c_void_p:
        if not self._dropped.alive:
            raise library_error(-errno.ENOTCONN, "shutdown")
        return self._own_handle

    def connect(self) -> None:
        LIBRADOS.call("rados_connect", self._handle)

    def shutdown(self) -> None:
        """No call may be inside. Nothing happens the second time."""
        if self._dropped.detach():
            LIBRADOS.run("rados_shutdown", self._own_handle)

    def get_fsid(self) -> str:
        return LIBRADOS.filled("rados_cluster_fsid", self._handle).decode()

    def get_addrs(self) -> str:
        found = c_void_p()
        LIBRADOS.call("rados_getaddrs", self._handle, byref(found))
        try:
            return ctypes.string_at(found).decode()
        finally:
            LIBRADOS.run("rados_buffer_free", found)

    def wait_for_latest_osdmap(self) -> None:
        LIBRADOS.call("rados_wait_for_latest_osdmap", self._handle)

    def mon_command(self, command: str, given: bytes, /) -> tuple[int, bytes, str]:
        commands = (c_char_p * 1)(command.encode())
        output, output_size, remark, remark_size = c_void_p(), c_size_t(), c_void_p(), c_size_t()
        code = LIBRADOS.code(
            "rados_mon_command",
            *(self._handle, commands, len(commands), given, len(given)),
            *(byref(output), byref(output_size), byref(remark), byref(remark_size)),
        )
        try:
            text = copied(remark, remark_size).decode(errors="replace")
            return code, copied(output, output_size), text
        finally:
            LIBRADOS.run("rados_buffer_free", output)
            LIBRADOS.run("rados_buffer_free", remark)

    def open_ioctx(self, pool: str, /) -> "Ioctx":
        handle = c_void_p()
        LIBRADOS.call("rados_ioctx_create", self._handle, pool.encode(), byref(handle))
        return Ioctx(self, handle)


def _shut_down_beside(handle: c_void_p) -> None:
    arguments = ("rados_shutdown", handle)
    threading.Thread(target=LIBRADOS.run, args=arguments, daemon=True).start()


@dataclass(frozen=True, slots=True)
class ObjectEntry:
    key: str


class Ioctx(Releasable):
    """An open pool."""

    def __init__(self, cluster: Rados, handle: c_void_p) -> None:
        self._cluster = cluster
        self.handle = handle

    def release(self) -> None:
        LIBRADOS.run("rados_ioctx_destroy", self.handle)

    def set_osdmap_full_try(self) -> None:
        LIBRADOS.run("rados_set_pool_full_try", self.handle)

    def set_namespace(self, namespace: str, /) -> None:
        LIBRADOS.run("rados_ioctx_set_namespace", self.handle, namespace.encode())

    def stat(self, name: str, /) -> int:
        """Its size in bytes."""
        size = c_uint64()
        LIBRADOS.call("rados_stat", self.handle, name.encode(), byref(size), None)
        return size.value

    def remove_object(self, name: str, /) -> None:
        LIBRADOS.call("rados_remove", self.handle, name.encode())

    def list_objects(self) -> Iterator[ObjectEntry]:
        listing = c_void_p()
        LIBRADOS.call("rados_nobjects_list_open", self.handle, byref(listing))
        try:
            yield from _entries(listing)
        finally:
            LIBRADOS.run("rados_nobjects_list_close", listing)

    def get_omap_vals_by_keys(
        self, operation: ReadOperation, keys: Sequence[str], /
    ) -> tuple[operations.OmapAnswer, int]:
        return _read(operation).values_of(keys), 0

    def get_omap_vals(
        self, operation: ReadOperation, after: str, prefix: str, most: int, /
    ) -> tuple[operations.OmapAnswer, int]:
        return _read(operation).values_after(after, prefix, most), 0

    def operate_read_op(self, operation: ReadOperation, name: str, /) -> None:
        reading = _read(operation).handle
        LIBRADOS.call("rados_read_op_operate", reading, self.handle, name.encode(), NO_FLAGS)

    def set_omap(
        self, operation: WriteOperation, keys: Sequence[str], values: Sequence[bytes], /
    ) -> None:
        _write(operation).set_values(keys, values)

    def remove_omap_keys(self, operation: WriteOperation, keys: Sequence[str], /) -> None:
        _write(operation).remove_keys(keys)

    def operate_write_op(self, operation: WriteOperation, name: str, /) -> None:
        writing = _write(operation).handle
        LIBRADOS.call("rados_write_op_operate", writing, self.handle, name.encode(), None, NO_FLAGS)


def _entries(listing: c_void_p) -> Iterator[ObjectEntry]:
    name, name_size = c_void_p(), c_size_t()
    while True:
        code = LIBRADOS.code(
            "rados_nobjects_list_next2",
            *(listing, byref(name), None, None, byref(name_size), None, None),
        )
        if code == -errno.ENOENT:
            return
        if code < 0:
            raise library_error(code, "rados_nobjects_list_next2")
        yield ObjectEntry(copied(name, name_size).decode(errors="replace"))


def _read(operation: ReadOperation) -> ReadOpCtx:
    if not isinstance(operation, ReadOpCtx):
        raise TypeError(f"{operation} is of another binding")
    return operation


def _write(operation: WriteOperation) -> WriteOpCtx:
    if not isinstance(operation, WriteOpCtx):
        raise TypeError(f"{operation} is of another binding")
    return operation


def pool_handle(pool: OpenPool) -> c_void_p:
    if not isinstance(pool, Ioctx):
        raise TypeError(f"{pool} is of another binding")
    return pool.handle
