"""The process in which libcephfs runs: requests come in on standard input, answers go out.

It holds nothing that the file system does not have. So it can be killed at any moment, and another
one goes on with what it did. When its input ends it ends, even in the middle of a call.
"""

import atexit
import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from typing import assert_never

import msgspec

from plimsoll.wire.ceph.binding_choice import import_cephfs
from plimsoll.wire.ceph.files import messages as m
from plimsoll.wire.ceph.files.copying import TreeCopy
from plimsoll.wire.ceph.files.interface import CephfsModule, FileCalls
from plimsoll.wire.ceph.files.removal import entries, remove_some

ENTRIES = 200
"""Removed in one step."""
COPIED_BYTES = 32 << 20
"""Copied in one step."""
OPEN_TO_ALL = 0o777
"""Any user in a pod may write to its volume; the directory above keeps all other users out."""
CLOSED = 0o700
SNAPSHOT_MODE = 0o755
GRACE = 3.0
"""Seconds for which a call may go on after the driver has gone."""
SNAPSHOTS = b"/.snap"


class FileWorker:
    def __init__(self, cephfs: CephfsModule, fs: FileCalls) -> None:
        self._cephfs = cephfs
        self._fs = fs
        self._copies: dict[tuple[str, str], Iterator[int]] = {}

    def answer(self, request: m.Request) -> m.Answer:
        """What goes wrong with the file system is an answer too."""
        try:
            return self._answer(request)
        except self._cephfs.Error as error:
            self._copies.clear()
            return failure(error)

    def _answer(self, request: m.Request) -> m.Answer:
        match request:
            case m.ReadFacts():
                return self._facts(request.path)
            case m.ListNames():
                return m.FoundNames(names=tuple(self._names(_encoded(request.path))))
            case m.ReadLink():
                return m.FoundNames(names=tuple(self._link(request.path)))
            case m.RemoveSome():
                return m.StepDone(is_last=self._remove_some(request.path))
            case m.CopySome():
                return m.StepDone(is_last=self._copy_some(request))
            case _:
                self._change(request)
                return m.RequestDone()

    def _change(
        self,
        request: m.MakeDirectory
        | m.MakeLink
        | m.RemoveLink
        | m.SetQuota
        | m.MoveDirectory
        | m.MakeSnapshot
        | m.RemoveSnapshot,
    ) -> None:
        match request:
            case m.MakeDirectory():
                self._make(request)
            case m.MakeLink():
                self._make_above(request.path)
                with contextlib.suppress(self._cephfs.ObjectExists):
                    self._fs.symlink(request.text, request.path)
            case m.RemoveLink():
                with contextlib.suppress(self._cephfs.ObjectNotFound):
                    self._fs.unlink(request.path)
            case m.SetQuota():
                self._set(request.path, "ceph.quota.max_bytes", str(request.quota_bytes))
            case m.MoveDirectory():
                self._move(request)
            case m.MakeSnapshot():
                with contextlib.suppress(self._cephfs.ObjectExists):
                    self._fs.mksnap(request.path, request.name, SNAPSHOT_MODE, {})
            case m.RemoveSnapshot():
                with contextlib.suppress(self._cephfs.ObjectNotFound):
                    self._fs.rmsnap(request.path, request.name)
            case _:
                assert_never(request)

    def _make(self, request: m.MakeDirectory) -> None:
        self._make_above(request.path)
        with contextlib.suppress(self._cephfs.ObjectExists):
            self._fs.mkdir(request.path, OPEN_TO_ALL)
        # The mode of a new directory is cut by that of the process.
        self._fs.chmod(request.path, OPEN_TO_ALL)
        self._set(request.path, "ceph.dir.layout.pool", request.pool)
        self._set(request.path, "ceph.quota.max_bytes", str(request.quota_bytes))

    def _make_above(self, path: str) -> None:
        above = path.rpartition("/")[0]
        if above and not self._exists(above):
            self._fs.mkdirs(above, CLOSED)

    def _exists(self, path: str) -> bool:
        try:
            self._fs.stat(path)
        except self._cephfs.ObjectNotFound:
            return False
        return True

    def _set(self, path: str, name: str, value: str) -> None:
        self._fs.setxattr(path, name, value.encode(), 0)

    def _get(self, path: str, name: str) -> str:
        try:
            found = self._fs.getxattr(path, name)
        except self._cephfs.NoData:
            return ""
        return found.decode()

    def _facts(self, path: str) -> m.DirectoryFacts:
        self._fs.stat(path)
        return m.DirectoryFacts(
            quota_bytes=int(self._get(path, "ceph.quota.max_bytes") or 0),
            used_bytes=int(self._get(path, "ceph.dir.rbytes") or 0),
            pool=self._get(path, "ceph.dir.layout.pool"),
            snapshots=tuple(self._names(_encoded(path) + SNAPSHOTS)),
        )

    def _names(self, path: bytes) -> list[str]:
        try:
            found = entries(self._fs, path)
        except self._cephfs.ObjectNotFound:
            return []
        return sorted(name.decode(errors="replace") for name, _ in found)

    def _link(self, path: str) -> list[str]:
        try:
            text = self._fs.readlink(path, 4096)
        except self._cephfs.ObjectNotFound:
            return []
        return [text.decode(errors="replace")]

    def _move(self, request: m.MoveDirectory) -> None:
        self._make_above(request.to)
        try:
            self._fs.rename(request.path, request.to)
        except self._cephfs.ObjectNotFound:
            self._fs.stat(request.to)

    def _remove_some(self, path: str) -> bool:
        root = _encoded(path)
        try:
            if not remove_some(self._fs, root, ENTRIES):
                return False
            if not self._names(root + SNAPSHOTS):
                self._fs.rmdir(root)
        except self._cephfs.ObjectNotFound:
            # Another process removes the same tree.
            return not self._exists(path)
        return True

    def _copy_some(self, request: m.CopySome) -> bool:
        key = request.path, request.to
        if key not in self._copies:
            source, target = _encoded(request.path), _encoded(request.to)
            made = TreeCopy(fs=self._fs, cephfs=self._cephfs, source=source, target=target)
            self._copies[key] = made.run()
        copied = 0
        for size in self._copies[key]:
            copied += size
            if copied >= COPIED_BYTES:
                return False
        del self._copies[key]
        return True


def _encoded(path: str) -> bytes:
    return path.encode()


def failure(error: Exception) -> m.RequestFailed:
    number = getattr(error, "errno", None) or 0
    return m.RequestFailed(number=abs(number), text="" if number else str(error))


def mounted(cephfs: CephfsModule, access: m.WorkerAccess) -> FileCalls:
    seconds = str(access.seconds)
    timeouts = ("rados_osd_op_timeout", "rados_mon_op_timeout", "client_mount_timeout")
    fs = cephfs.LibCephFS(
        auth_id=access.user,
        conf={
            "mon_host": access.monitors,
            "key": access.key,
            **dict.fromkeys(timeouts, seconds),
            "client_shutdown_timeout": "2",
            "objecter_timeout": "2",
            "objecter_tick_interval": "1",
            # Volumes belong to users of pods; this process works on all of them.
            "client_permissions": "false",
            "err_to_stderr": "false",
            "log_to_stderr": "false",
            "admin_socket": "",
        },
    )
    fs.mount(mount_root=b"/", filesystem_name=access.filesystem.encode())
    return fs


def serve(lines: "queue.SimpleQueue[bytes]", answer: Callable[[m.Answer], None]) -> None:
    access = msgspec.json.decode(lines.get(), type=m.WorkerAccess)
    cephfs = import_cephfs(access.bindings)
    try:
        fs = mounted(cephfs, access)
    except cephfs.Error as error:
        answer(failure(error))
        return
    answer(m.WorkerReady(address=fs.get_addrs()))
    worker = FileWorker(cephfs, fs)
    requests = msgspec.json.Decoder(m.Request)
    while line := lines.get():
        answer(worker.answer(requests.decode(line)))
    fs.shutdown()


def read_lines(lines: "queue.SimpleQueue[bytes]") -> None:
    """When there are no more the process ends: after the current call, if that ends soon."""
    for line in sys.stdin.buffer:
        lines.put(line)
    lines.put(b"")
    threading.Timer(GRACE, os._exit, (1,)).start()


def main() -> None:
    # Libraries may print; answers go where nothing else does.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def answer(given: m.Answer) -> None:
        out.write(msgspec.json.encode(given) + b"\n")
        out.flush()

    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=read_lines, args=(lines,), daemon=True).start()
    # What libcephfs leaves running would keep the process from ending in the ordinary way.
    atexit.register(os._exit, 1)
    with contextlib.suppress(BrokenPipeError):
        serve(lines, answer)
    os._exit(0)


if __name__ == "__main__":
    main()
