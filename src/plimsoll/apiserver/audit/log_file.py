"""The audit log on disk: written by a thread of its own, turned over when it is large.

No request waits for it. A disk that is full or a queue that is full costs entries, which are
counted, and never a request. All files have mode 0600.
"""

import logging
import os
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from plimsoll.apiserver.audit.entries import AuditEntry

log = logging.getLogger(__name__)

MOST_WAITING = 10_000
MOST_WAITING_BYTES = 64 * 1024 * 1024
CLOSE_SECONDS = 5.0
MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFileLimits:
    max_bytes: int = 100 * MEBIBYTE
    """The file is turned over before it is larger."""
    max_backups: int = 0
    """How many old files are kept; 0: all."""
    max_age: timedelta = timedelta(0)
    """How long old files are kept; 0: for ever."""


class RotatedFile:
    """Used by one thread. Every method may raise OSError."""

    def __init__(self, path: Path, limits: AuditFileLimits, now: Callable[[], datetime]) -> None:
        self._path = path
        self._limits = limits
        self._now = now
        self._file: int | None = None
        self._size = 0

    def write(self, line: bytes) -> None:
        if self._file is None:
            self._open()
        if self._size and self._size + len(line) > self._limits.max_bytes:
            self._turn_over()
        if self._file is not None:
            left = memoryview(line)
            while left:
                left = left[os.write(self._file, left) :]
            self._size += len(line)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        # One that was there before may have had another mode.
        os.fchmod(self._file, 0o600)
        self._size = os.fstat(self._file).st_size

    def _turn_over(self) -> None:
        self.close()
        stamp = self._now().strftime("%Y-%m-%dT%H-%M-%S.%f")
        self._path.rename(self._path.with_name(f"{self._path.stem}-{stamp}{self._path.suffix}"))
        self._open()
        self._forget_old()

    def _forget_old(self) -> None:
        pattern = f"{self._path.stem}-????-??-??T*{self._path.suffix}"
        old = sorted(self._path.parent.glob(pattern), reverse=True)
        kept = self._limits.max_backups or len(old)
        oldest = self._now() - self._limits.max_age
        for number, path in enumerate(old):
            is_stale = self._limits.max_age and path.stat().st_mtime < oldest.timestamp()
            if number >= kept or is_stale:
                path.unlink(missing_ok=True)


class AuditLog:
    """Takes entries from the event loop and never makes it wait."""

    def __init__(self, file: RotatedFile) -> None:
        self._file = file
        self._entries: queue.Queue[AuditEntry | None] = queue.Queue(MOST_WAITING)
        self._added_bytes = 0
        """Counted by those who add; what was taken again is counted by the thread."""
        self._taken_bytes = 0
        self.written = 0
        self.lost = 0
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._thread.start()

    def add(self, entry: AuditEntry) -> None:
        if self._added_bytes - self._taken_bytes + entry.size > MOST_WAITING_BYTES:
            self.lost += 1
            return
        try:
            self._entries.put_nowait(entry)
            self._added_bytes += entry.size
        except queue.Full:
            self.lost += 1

    def close(self) -> None:
        """Everything that was added is written first, if the disk takes it soon."""
        try:
            self._entries.put(None, timeout=CLOSE_SECONDS)
        except queue.Full:
            return
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        while (entry := self._entries.get()) is not None:
            self._taken_bytes += entry.size
            try:
                self._file.write(msgspec.json.encode(entry.document()) + b"\n")
                self.written += 1
            except (OSError, TypeError, ValueError) as error:
                if not self.lost:
                    log.warning("audit entry lost", extra={"error": str(error)})
                self.lost += 1
                self._file.close()
        self._file.close()
