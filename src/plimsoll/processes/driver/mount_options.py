"""Which mount options a class, a volume or a pod may ask for: an allow-list for each file system.

An option that is not listed is refused before anything is mounted. Some of them would mount another
device than the volume's (`loop`, `device=`), another part of it (`subvol=`, `offset=`) or nothing
new at all (`remount`, `bind`), so that the driver would not find its own mount again. Others stop
the whole machine (`errors=panic`) or give away the capacity that was promised (`discard` on an
image). `mount` itself takes several options in one text, separated by commas: they are taken apart
before they are judged.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

BIND: Final = "bind"
"""For volumes that are shown as a view of a directory: directories, and file systems in memory."""
DISCARD: Final = "discard"
READ_ONLY, READ_WRITE = "ro", "rw"

NUMBER = r"[0-9]{1,9}"
SIZE = r"[0-9]{1,9}[kKmMgG]?"
COMPRESSION = r"zlib(:[1-9])?|lzo|zstd(:([1-9]|1[0-5]))?|no|none"
WORD = ""
"""For an option that has no value."""

OF_EVERY_MOUNT: Mapping[str, str] = dict.fromkeys(
    (
        *("defaults", READ_ONLY, READ_WRITE, "dev", "nodev", "exec", "noexec", "suid", "nosuid"),
        *("atime", "noatime", "diratime", "nodiratime"),
        *("relatime", "norelatime", "strictatime"),
    ),
    WORD,
)
OF_EVERY_FILE_SYSTEM: Mapping[str, str] = dict.fromkeys(
    ("async", "sync", "dirsync", "lazytime", "nolazytime", "nodiscard"), WORD
)
OF_EXT4: Mapping[str, str] = {
    "barrier": "|[01]",
    "commit": NUMBER,
    "data": "journal|ordered|writeback",
    "errors": "continue|remount-ro",
    "inode_readahead_blks": NUMBER,
    "journal_ioprio": "[0-7]",
    "max_batch_time": NUMBER,
    "min_batch_time": NUMBER,
    "stripe": NUMBER,
    **dict.fromkeys(
        (
            *("acl", "noacl", "user_xattr", "nouser_xattr"),
            *("auto_da_alloc", "noauto_da_alloc", "delalloc", "nodelalloc", "nobarrier"),
            *("journal_checksum", "nojournal_checksum", "journal_async_commit"),
            *("quota", "noquota", "usrquota", "grpquota", "prjquota"),
        ),
        WORD,
    ),
}
OF_XFS: Mapping[str, str] = {
    "allocsize": SIZE,
    "logbsize": SIZE,
    "logbufs": NUMBER,
    **dict.fromkeys(
        (
            *("attr2", "filestreams", "ikeep", "noikeep", "inode32", "inode64"),
            *("largeio", "nolargeio", "nouuid", "swalloc", "wsync"),
            *("noquota", "uquota", "usrquota", "uqnoenforce", "gquota", "grpquota", "gqnoenforce"),
            *("pquota", "prjquota", "pqnoenforce"),
        ),
        WORD,
    ),
}
OF_BTRFS: Mapping[str, str] = {
    "commit": NUMBER,
    "compress": f"|{COMPRESSION}",
    "compress-force": f"|{COMPRESSION}",
    "max_inline": SIZE,
    "metadata_ratio": NUMBER,
    "space_cache": "|v1|v2",
    "thread_pool": NUMBER,
    **dict.fromkeys(
        (
            *("acl", "noacl", "autodefrag", "noautodefrag", "barrier", "nobarrier"),
            *("datacow", "nodatacow", "datasum", "nodatasum", "flushoncommit", "noflushoncommit"),
            *("ssd", "nossd", "ssd_spread", "nossd_spread", "treelog", "notreelog"),
            "user_subvol_rm_allowed",
        ),
        WORD,
    ),
}
ALLOWED: Mapping[str, Mapping[str, str]] = {
    BIND: OF_EVERY_MOUNT,
    "ext4": {**OF_EVERY_MOUNT, **OF_EVERY_FILE_SYSTEM, **OF_EXT4},
    "xfs": {**OF_EVERY_MOUNT, **OF_EVERY_FILE_SYSTEM, **OF_XFS},
    "btrfs": {**OF_EVERY_MOUNT, **OF_EVERY_FILE_SYSTEM, **OF_BTRFS},
}
"""By file system and name: what the value must look like."""


def parse_options(flags: Iterable[str]) -> tuple[str, ...]:
    """One by one, as `mount` understands them."""
    return tuple(option for flag in flags for option in flag.split(","))


def find_problem(options: Collection[str], mounted_as: str, *, also: Collection[str] = ()) -> str:
    """Why a volume cannot be mounted like that; empty: it can.

    `also` are options that this volume may have beyond those of its file system.
    """
    allowed = {**ALLOWED[mounted_as], **dict.fromkeys(also, WORD)}
    refused = sorted({option for option in options if not _is_allowed(option, allowed)})
    if refused:
        listed = ", ".join(repr(option) for option in refused)
        return (
            f"mount option {listed} is not allowed for {_named(mounted_as)}; allowed are"
            f" {', '.join(_written(name, value) for name, value in sorted(allowed.items()))}"
        )
    if {READ_ONLY, READ_WRITE} <= set(options):
        return f"mount options {READ_ONLY} and {READ_WRITE} contradict each other; take one out"
    return ""


def _is_allowed(option: str, allowed: Mapping[str, str]) -> bool:
    name, _, value = option.partition("=")
    if name not in allowed or option == f"{name}=":
        return False
    return re.fullmatch(allowed[name], value) is not None


def _named(mounted_as: str) -> str:
    return "a directory" if mounted_as == BIND else mounted_as


def _written(name: str, value: str) -> str:
    if value == WORD:
        return name
    return f"{name}[=…]" if value.startswith("|") else f"{name}=…"
