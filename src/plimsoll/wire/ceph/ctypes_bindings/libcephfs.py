"""The functions of libcephfs that are called, and their structures, as libcephfs.h declares them.

`FoundEntry` is `struct dirent` of 64-bit Linux, `FileStatus` is `struct ceph_statx`.
"""

from collections.abc import Sequence
from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_int,
    c_int64,
    c_long,
    c_size_t,
    c_ubyte,
    c_uint,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any, ClassVar

from plimsoll.wire.ceph.ctypes_bindings.shared_library import SharedLibrary


class FoundEntry(Structure):
    _fields_: ClassVar[Sequence[Any]] = (
        ("d_ino", c_uint64),
        ("d_off", c_int64),
        ("d_reclen", c_uint16),
        ("d_type", c_ubyte),
        ("d_name", c_char * 256),
    )


class TimeSpec(Structure):
    _fields_: ClassVar[Sequence[Any]] = (("seconds", c_long), ("nanoseconds", c_long))


class TimeVal(Structure):
    _fields_: ClassVar[Sequence[Any]] = (("seconds", c_long), ("microseconds", c_long))


class FileStatus(Structure):
    _fields_: ClassVar[Sequence[Any]] = (
        ("mask", c_uint32),
        ("blksize", c_uint32),
        ("nlink", c_uint32),
        ("uid", c_uint32),
        ("gid", c_uint32),
        ("mode", c_uint16),
        ("ino", c_uint64),
        ("size", c_uint64),
        ("blocks", c_uint64),
        ("dev", c_uint64),
        ("rdev", c_uint64),
        ("atime", TimeSpec),
        ("ctime", TimeSpec),
        ("mtime", TimeSpec),
        ("btime", TimeSpec),
        ("version", c_uint64),
    )


MOUNT, PATH, NAME, FILE, MODE = c_void_p, c_char_p, c_char_p, c_int, c_uint

LIBCEPHFS = SharedLibrary(
    "libcephfs.so.2",
    {
        "ceph_create": (c_int, POINTER(MOUNT), c_char_p),
        "ceph_conf_set": (c_int, MOUNT, c_char_p, c_char_p),
        "ceph_init": (c_int, MOUNT),
        "ceph_select_filesystem": (c_int, MOUNT, c_char_p),
        "ceph_mount": (c_int, MOUNT, c_char_p),
        "ceph_shutdown": (None, MOUNT),
        "ceph_getaddrs": (c_int, MOUNT, POINTER(c_void_p)),
        "ceph_buffer_free": (None, c_void_p),
        "ceph_opendir": (c_int, MOUNT, PATH, POINTER(c_void_p)),
        "ceph_readdir_r": (c_int, MOUNT, c_void_p, POINTER(FoundEntry)),
        "ceph_closedir": (c_int, MOUNT, c_void_p),
        "ceph_mkdir": (c_int, MOUNT, PATH, MODE),
        "ceph_mkdirs": (c_int, MOUNT, PATH, MODE),
        "ceph_rmdir": (c_int, MOUNT, PATH),
        "ceph_mksnap": (c_int, MOUNT, PATH, NAME, MODE, c_void_p, c_size_t),
        "ceph_rmsnap": (c_int, MOUNT, PATH, NAME),
        "ceph_statx": (c_int, MOUNT, PATH, POINTER(FileStatus), c_uint, c_uint),
        "ceph_chmod": (c_int, MOUNT, PATH, MODE),
        "ceph_lchown": (c_int, MOUNT, PATH, c_int, c_int),
        "ceph_lutimes": (c_int, MOUNT, PATH, POINTER(TimeVal)),
        "ceph_setxattr": (c_int, MOUNT, PATH, NAME, c_char_p, c_size_t, c_int),
        "ceph_getxattr": (c_int, MOUNT, PATH, NAME, c_char_p, c_size_t),
        "ceph_lsetxattr": (c_int, MOUNT, PATH, NAME, c_char_p, c_size_t, c_int),
        "ceph_lgetxattr": (c_int, MOUNT, PATH, NAME, c_char_p, c_size_t),
        "ceph_llistxattr": (c_int, MOUNT, PATH, c_char_p, c_size_t),
        "ceph_link": (c_int, MOUNT, PATH, PATH),
        "ceph_symlink": (c_int, MOUNT, PATH, PATH),
        "ceph_readlink": (c_int, MOUNT, PATH, c_char_p, c_int64),
        "ceph_unlink": (c_int, MOUNT, PATH),
        "ceph_rename": (c_int, MOUNT, PATH, PATH),
        "ceph_mknod": (c_int, MOUNT, PATH, MODE, c_uint64),
        "ceph_open": (c_int, MOUNT, PATH, c_int, MODE),
        "ceph_read": (c_int, MOUNT, FILE, c_char_p, c_int64, c_int64),
        "ceph_write": (c_int, MOUNT, FILE, c_char_p, c_int64, c_int64),
        "ceph_ftruncate": (c_int, MOUNT, FILE, c_int64),
        "ceph_fsync": (c_int, MOUNT, FILE, c_int),
        "ceph_close": (c_int, MOUNT, FILE),
        "ceph_sync_fs": (c_int, MOUNT),
    },
)
