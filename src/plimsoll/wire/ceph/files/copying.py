"""Trees copied with everything that a user could notice: owners, modes, attributes, links, times.

The source does not change meanwhile: it is a snapshot. A copy that was interrupted is gone on with:
a file gets its name after its content has reached the disks, so one that has its name and its size
is whole. Blocks of zeros are not written: sparse files stay sparse. Times are those of the source
to the second, which is all that the binding tells.
"""

import contextlib
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from plimsoll.wire.ceph.files.interface import CephfsModule, FileCalls, FileFacts
from plimsoll.wire.ceph.files.removal import DIRECTORY, entries

CHUNK = 1 << 20
ENTRY_COST = 64 << 10
"""What a file costs beside its bytes, counted in those."""
LONGEST_ATTRIBUTE = 64 << 10
"""Bytes of a value, or of all names of a file: Linux takes no more."""
HIDDEN = b"ceph."
"""Attributes that CephFS has itself."""
BITS = 0o7777
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
DRAFT = b".plimsoll-copying"
"""What a file is called while it is written, in the directory that the copy begins with."""


@dataclass(slots=True)
class TreeCopy:
    fs: FileCalls
    cephfs: CephfsModule
    """The module: it has the numbers of attributes."""
    source: bytes
    target: bytes
    """A directory that is there."""
    links: dict[int, bytes] = field(default_factory=dict)
    """Where a file with several names was copied to first, by its number in the source."""
    draft: bytes = b""

    def run(self) -> Iterator[int]:
        """Yields, now and then, what was copied since, in bytes."""
        taken = {name for name, _ in entries(self.fs, self.source)}
        self.draft = self.target + b"/" + _free_name(taken)
        self._discard_draft()
        pending = [(self.source, self.target, False)]
        while pending:
            here, there, is_filled = pending.pop()
            if is_filled:
                self._dress(here, there, self._stat(here))
                yield ENTRY_COST
                continue
            pending.append((here, there, True))
            for name, kind in entries(self.fs, here):
                inner = here + b"/" + name, there + b"/" + name
                if kind == DIRECTORY:
                    self._make_directory(inner[1])
                    pending.append((*inner, False))
                else:
                    yield from self._copy(*inner)
        self.fs.sync_fs()

    def _discard_draft(self) -> None:
        with contextlib.suppress(self.cephfs.ObjectNotFound):
            self.fs.unlink(self.draft)

    def _make_directory(self, path: bytes) -> None:
        if self._find(path) is None:
            self.fs.mkdir(path, 0o700)

    def _copy(self, source: bytes, target: bytes) -> Iterator[int]:
        facts, present = self._stat(source), self._find(target)
        if facts["nlink"] > 1 and (first := self.links.setdefault(facts["ino"], target)) != target:
            self._link(first, target, present)
        else:
            if present is None or present["size"] != facts["size"]:
                yield from self._content(source, target, facts)
            self._dress(source, target, facts)
        yield ENTRY_COST

    def _link(self, first: bytes, target: bytes, present: FileFacts | None) -> None:
        if present is not None and present["ino"] == self._stat(first)["ino"]:
            return
        if present is not None:
            self.fs.unlink(target)
        self.fs.link(first, target)

    def _content(self, source: bytes, target: bytes, facts: FileFacts) -> Iterator[int]:
        mode = facts["mode"]
        if stat.S_ISREG(mode):
            yield from self._bytes(source, facts["size"])
            self.fs.rename(self.draft, target)
        elif stat.S_ISLNK(mode):
            self.fs.symlink(self.fs.readlink(source, facts["size"] + 1), target)
        else:
            self.fs.mknod(target, stat.S_IFMT(mode) | 0o600, facts["rdev"])

    def _bytes(self, source: bytes, size: int) -> Iterator[int]:
        reading = self.fs.open(source, os.O_RDONLY)
        try:
            writing = self.fs.open(self.draft, NEW_FILE, 0o600)
            try:
                offset = 0
                while chunk := self.fs.read(reading, offset, CHUNK):
                    if chunk.strip(b"\0"):
                        self._write(writing, chunk, offset)
                    offset += len(chunk)
                    yield len(chunk)
                self.fs.ftruncate(writing, size)
                # Tells what went wrong with content that is written by and by.
                self.fs.fsync(writing, 1)
            finally:
                self.fs.close(writing)
        finally:
            self.fs.close(reading)

    def _write(self, writing: int, chunk: bytes, offset: int) -> None:
        while chunk:
            written = self.fs.write(writing, chunk, offset)
            chunk, offset = chunk[written:], offset + written

    def _dress(self, source: bytes, target: bytes, facts: FileFacts) -> None:
        """Changing the owner takes away bits of the mode, so that is first; everything changes the
        time, so that is last."""
        mode = facts["mode"]
        self.fs.lchown(target, facts["uid"], facts["gid"])
        for name in self._attributes(source):
            value = self.fs.lgetxattr(source, name.decode(), LONGEST_ATTRIBUTE)
            self.fs.lsetxattr(target, name.decode(), value, 0)
        if not stat.S_ISLNK(mode):
            self.fs.chmod(target, mode & BITS)
        self.fs.lutimes(target, (facts["atime"].timestamp(), facts["mtime"].timestamp()))

    def _attributes(self, path: bytes) -> list[bytes]:
        _, names = self.fs.llistxattr(path, LONGEST_ATTRIBUTE)
        return [name for name in names.split(b"\0") if name and not name.startswith(HIDDEN)]

    def _stat(self, path: bytes) -> FileFacts:
        return self.fs.statx(
            path, self.cephfs.CEPH_STATX_BASIC_STATS, self.cephfs.AT_SYMLINK_NOFOLLOW
        )

    def _find(self, path: bytes) -> FileFacts | None:
        """None: there is no such thing."""
        try:
            return self._stat(path)
        except self.cephfs.ObjectNotFound:
            return None


def _free_name(taken: Collection[bytes]) -> bytes:
    name = DRAFT
    while name in taken:
        name += b"-"
    return name
