"""A line between a client and an API server: it notes what is written, and can hold an answer back.

Plain HTTP on the client's side, TLS on the server's: only so can the line know what is asked.
"""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import yaml

from tests.message_lengths import HEAD_END, body_bytes, missing_bytes
from tests.servers import Endpoint

T = TypeVar("T")
READING = ("GET", "HEAD")


class HeldLine:
    """Runs in a thread of its own, so that a test may wait while it forwards."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._loop = asyncio.new_event_loop()
        self._held = ""
        self._released = asyncio.Event()
        self._delivered = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self.port = 0
        self.written: list[str] = []
        """What the client sent that changes something, but for leases: `POST /api/v1/…`."""

    def kubeconfig(self, directory: Path) -> Path:
        """For a client that is to take this line."""
        document = yaml.safe_load(self._endpoint.kubeconfig.read_text())
        document["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{self.port}"}
        path = directory / "kubeconfig-of-the-line"
        path.write_text(yaml.safe_dump(document))
        return path

    def hold_answer(self, request: str) -> None:
        """From now on the server's answers to this request, `POST /api/v1/…`, wait."""
        self._held = request

    def deliver(self) -> None:
        """What was held is with the client's kernel when this returns; nothing is held any more."""
        self._held = ""
        self._call(self._deliver())

    async def _deliver(self) -> None:
        self._released.set()
        await self._delivered.wait()

    @contextmanager
    def open(self) -> Iterator["HeldLine"]:
        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        server = self._call(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self._call(self._drop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    def _call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _drop(self) -> None:
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        there, back = await asyncio.open_connection(
            self._endpoint.host, self._endpoint.port, ssl=self._endpoint.context()
        )
        asked: list[str] = []
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._forward_requests(reader, back, asked))
                group.create_task(self._forward_answers(there, writer, asked))
        except* ConnectionError:
            pass  # one side is gone; the other is told below
        finally:
            self._connections.discard(task)
            writer.close()
            back.close()

    async def _forward_requests(
        self, reader: asyncio.StreamReader, back: asyncio.StreamWriter, asked: list[str]
    ) -> None:
        while True:
            with contextlib.suppress(asyncio.IncompleteReadError):
                head = await reader.readuntil(HEAD_END)
                body = await reader.readexactly(body_bytes(head))
                method, target, _ = head.decode().split(" ", 2)
                asked[:] = [f"{method} {target.partition('?')[0]}"]
                if method not in READING and "/leases" not in target:
                    self.written += asked
                back.write(head + body)
                await back.drain()
                continue
            raise ConnectionResetError("the client is gone")

    async def _forward_answers(
        self, there: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: list[str]
    ) -> None:
        while data := await there.read(1 << 16):
            is_held = asked == [self._held]
            if is_held:
                data += await there.readexactly(missing_bytes(data))
                await self._released.wait()
            writer.write(data)
            await writer.drain()
            if is_held:
                self._delivered.set()
        raise ConnectionResetError("the server is gone")
