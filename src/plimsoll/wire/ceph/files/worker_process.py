"""One worker, seen from the driver: started, asked, ended or killed."""

import asyncio
import contextlib
import errno
import os
import signal
import sys
from datetime import timedelta
from typing import Self

import msgspec

from plimsoll.wire.ceph.errors import CephError, CephFailure, ceph_error
from plimsoll.wire.ceph.files import messages as m

WORKER = "plimsoll.wire.ceph.files.worker"
LONGEST_LINE = 64 << 20
"""Bytes of an answer: the names in a large directory."""

Pipes = tuple[asyncio.StreamReader, asyncio.StreamWriter]
"""Answers come out of the one, requests go into the other."""

ANSWERS = msgspec.json.Decoder(m.Answer)


class WorkerProcess:
    def __init__(self, process: asyncio.subprocess.Process, pipes: Pipes, where: str) -> None:
        self._process = process
        self._answers, self._requests = pipes
        self._where = where
        self.address = ""
        """Of the client; empty until it has connected."""
        self._is_in_step = True
        """Whether every request that was sent has been answered."""

    @classmethod
    async def started(cls, where: str) -> Self:
        """`where` begins the sentences of errors."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            WORKER,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=LONGEST_LINE,
        )
        if process.stdout is None or process.stdin is None:
            raise TypeError("the worker has no pipes")
        return cls(process, (process.stdout, process.stdin), where)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        return self._process.returncode is None and self._is_in_step

    async def connect(self, access: m.WorkerAccess) -> None:
        """Raises CephError."""
        match await self._exchange(access):
            case m.WorkerReady(address=address):
                self.address = address
            case other:
                raise self._surprised(other)

    async def ask(self, request: m.Request) -> m.Answer:
        """Raises CephError. The caller has a time limit; after that it kills the worker."""
        return await self._exchange(request)

    async def _exchange(self, message: msgspec.Struct) -> m.Answer:
        self._is_in_step = False
        try:
            self._requests.write(msgspec.json.encode(message) + b"\n")
            await self._requests.drain()
            line = await self._answers.readline()
        except (ConnectionError, BrokenPipeError):
            line = b""
        if not line:
            raise CephError(CephFailure.FAILED, self._where, "its worker ended unexpectedly")
        self._is_in_step = True
        answer: m.Answer = ANSWERS.decode(line)
        if isinstance(answer, m.RequestFailed):
            raise self._failed(answer)
        return answer

    def _failed(self, answer: m.RequestFailed) -> CephError:
        """libcephfs tells of an OSD that did not answer as if a disk had failed."""
        if answer.number == errno.EIO:
            detail = f"content could not be read or written: errno {errno.EIO}"
            return CephError(CephFailure.TIMED_OUT, self._where, detail)
        return ceph_error(answer.number, self._where, answer.text)

    def _surprised(self, answer: m.Answer) -> CephError:
        return CephError(CephFailure.FAILED, self._where, f"unexpected {type(answer).__name__}")

    async def end(self, within: timedelta) -> bool:
        """In order: it gives back everything it holds. False: it did not, and was killed."""
        if not self.is_usable:
            self.kill()
            return False
        self._requests.close()
        try:
            async with asyncio.timeout(within.total_seconds()):
                return await self._process.wait() == 0
        except TimeoutError:
            self.kill()
            return False

    def kill(self) -> None:
        """Not by the process's own method: that would take its exit from the event loop."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
