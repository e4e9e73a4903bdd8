"""The part of Debian's module `cephfs` that is called, on libcephfs itself."""

import ctypes
import errno
from collections.abc import Mapping
from ctypes import byref, c_void_p
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from plimsoll.wire.ceph.ctypes_bindings.libcephfs import (
    LIBCEPHFS,
    FileStatus,
    FoundEntry,
    TimeSpec,
    TimeVal,
)
from plimsoll.wire.ceph.ctypes_bindings.library_errors import (
    ExistsError,
    LibraryError,
    NoDataError,
    NotFoundError,
    library_error,
)
from plimsoll.wire.ceph.files.interface import FileFacts

Error = LibraryError
ObjectNotFound = NotFoundError
ObjectExists = ExistsError
NoData = NoDataError
CEPH_STATX_BASIC_STATS = 0x7FF
AT_SYMLINK_NOFOLLOW = 0x100


@dataclass(frozen=True, slots=True)
class NamedEntry:
    d_name: bytes
    d_type: int


class LibCephFS:
    def __init__(self, *, auth_id: str, conf: Mapping[str, str]) -> None:
        self._handle: c_void_p | None = c_void_p()
        LIBCEPHFS.call("ceph_create", byref(self._handle), auth_id.encode())
        for option, value in conf.items():
            self._call("ceph_conf_set", option, value)

    def _call(self, function: str, *arguments: Any) -> int:
        return LIBCEPHFS.call(function, self._mounted(), *map(_encoded, arguments))

    def _filled(self, function: str, *arguments: Any) -> bytes:
        return LIBCEPHFS.filled(function, self._mounted(), *map(_encoded, arguments))

    def _mounted(self) -> c_void_p:
        if self._handle is None:
            raise library_error(-errno.ENOTCONN, "ceph_shutdown")
        return self._handle

    def mount(self, *, mount_root: bytes, filesystem_name: bytes) -> None:
        self._call("ceph_init")
        self._call("ceph_select_filesystem", filesystem_name)
        self._call("ceph_mount", mount_root)

    def shutdown(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            LIBCEPHFS.run("ceph_shutdown", handle)

    def get_addrs(self) -> str:
        found = c_void_p()
        self._call("ceph_getaddrs", byref(found))
        try:
            return ctypes.string_at(found).decode()
        finally:
            LIBCEPHFS.run("ceph_buffer_free", found)

    # Directories.

    def opendir(self, path: bytes, /) -> c_void_p:
        directory = c_void_p()
        self._call("ceph_opendir", path, byref(directory))
        return directory

    def readdir(self, directory: c_void_p, /) -> NamedEntry | None:
        """None: there are no more."""
        entry = FoundEntry()
        if not self._call("ceph_readdir_r", directory, byref(entry)):
            return None
        return NamedEntry(d_name=entry.d_name, d_type=entry.d_type)

    def closedir(self, directory: c_void_p, /) -> None:
        self._call("ceph_closedir", directory)

    def mkdir(self, path: str | bytes, mode: int, /) -> None:
        self._call("ceph_mkdir", path, mode)

    def mkdirs(self, path: str | bytes, mode: int, /) -> None:
        self._call("ceph_mkdirs", path, mode)

    def rmdir(self, path: str | bytes, /) -> None:
        self._call("ceph_rmdir", path)

    def mksnap(self, path: str, name: str, mode: int, metadata: Mapping[str, str], /) -> None:
        """Metadata are not taken."""
        if metadata:
            raise library_error(-errno.EOPNOTSUPP, "ceph_mksnap")
        self._call("ceph_mksnap", path, name, mode, None, 0)

    def rmsnap(self, path: str, name: str, /) -> None:
        self._call("ceph_rmsnap", path, name)

    # Facts and attributes.

    def stat(self, path: str | bytes, /) -> FileFacts:
        return self.statx(_encoded(path), CEPH_STATX_BASIC_STATS, 0)

    def statx(self, path: bytes, mask: int, flags: int, /) -> FileFacts:
        found = FileStatus()
        self._call("ceph_statx", path, byref(found), mask, flags)
        return FileFacts(
            mode=found.mode,
            nlink=found.nlink,
            uid=found.uid,
            gid=found.gid,
            rdev=found.rdev,
            ino=found.ino,
            size=found.size,
            atime=_time(found.atime),
            mtime=_time(found.mtime),
        )

    def chmod(self, path: str | bytes, mode: int, /) -> None:
        self._call("ceph_chmod", path, mode)

    def lchown(self, path: bytes, uid: int, gid: int, /) -> None:
        self._call("ceph_lchown", path, uid, gid)

    def lutimes(self, path: bytes, times: tuple[float, float], /) -> None:
        """Of the last access and of the last change."""
        self._call("ceph_lutimes", path, (TimeVal * 2)(*map(_time_value, times)))

    def setxattr(self, path: str, name: str, value: bytes, flags: int, /) -> None:
        self._call("ceph_setxattr", path, name, value, len(value), flags)

    def getxattr(self, path: str, name: str, /) -> bytes:
        return self._filled("ceph_getxattr", path, name)

    def lsetxattr(self, path: bytes, name: str, value: bytes, flags: int, /) -> None:
        self._call("ceph_lsetxattr", path, name, value, len(value), flags)

    def lgetxattr(self, path: bytes, name: str, _most: int, /) -> bytes:
        """The whole value. Debian's module has to be told how long it may be."""
        return self._filled("ceph_lgetxattr", path, name)

    def llistxattr(self, path: bytes, _most: int, /) -> tuple[int, bytes]:
        names = self._filled("ceph_llistxattr", path)
        return len(names), names

    # Names.

    def link(self, path: bytes, to: bytes, /) -> None:
        self._call("ceph_link", path, to)

    def symlink(self, text: str | bytes, path: str | bytes, /) -> None:
        self._call("ceph_symlink", text, path)

    def readlink(self, path: str | bytes, most: int, /) -> bytes:
        return self._filled("ceph_readlink", path)[:most]

    def unlink(self, path: str | bytes, /) -> None:
        self._call("ceph_unlink", path)

    def rename(self, path: str | bytes, to: str | bytes, /) -> None:
        self._call("ceph_rename", path, to)

    def mknod(self, path: bytes, mode: int, device: int, /) -> None:
        self._call("ceph_mknod", path, mode, device)

    # Content.

    def open(self, path: bytes, flags: int, mode: int = 0, /) -> int:
        return self._call("ceph_open", path, flags, mode)

    def read(self, file: int, offset: int, most: int, /) -> bytes:
        buffer = ctypes.create_string_buffer(most)
        return ctypes.string_at(buffer, self._call("ceph_read", file, buffer, most, offset))

    def write(self, file: int, content: bytes, offset: int, /) -> int:
        """How much of it was written."""
        return self._call("ceph_write", file, content, len(content), offset)

    def ftruncate(self, file: int, size: int, /) -> None:
        self._call("ceph_ftruncate", file, size)

    def fsync(self, file: int, only_data: int, /) -> None:
        self._call("ceph_fsync", file, only_data)

    def close(self, file: int, /) -> None:
        self._call("ceph_close", file)

    def sync_fs(self) -> None:
        self._call("ceph_sync_fs")


def _encoded(argument: Any) -> Any:
    return argument.encode() if isinstance(argument, str) else argument


def _time(found: TimeSpec) -> datetime:
    return datetime.fromtimestamp(found.seconds, UTC)


def _time_value(seconds: float) -> TimeVal:
    whole = int(seconds // 1)
    return TimeVal(whole, int((seconds - whole) * 1_000_000))
