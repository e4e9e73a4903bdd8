"""The API server as a process: it can be cut off, paused, and started again on the same disk.

It has no threads and no sockets; everything else is the server of production, with the batch path
to its disk and an fsync that takes virtual time. `KubeLink` is the way to it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any, TypeVar

from msgspec import structs

from plimsoll.apiserver.access.users import ADMIN, User
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import ORDINARY, ServerOptions, limits_for, make_server, running
from plimsoll.apiserver.server import ApiServer
from plimsoll.runtime.ids import seeded_ids
from plimsoll.simulator.engine.chance import derived
from plimsoll.simulator.engine.disk import Fsync, ServerDisk
from plimsoll.simulator.engine.network import Exchange, Fate, Network, Pipe
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.transport import Request, Response, StreamedResponse

T = TypeVar("T")

HISTORY = timedelta(minutes=5)
REQUEST_SECONDS = 60.0
CONFLICT = Response(
    status=409,
    headers={"content-type": "application/json"},
    body=b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,'
    b'"message":"the object has been modified: a conflict that the simulation made"}',
)
EXPIRED_LINE = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",'
    b'"reason":"Expired","code":410,"message":"too old: a loss that the simulation made"}}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiHostOptions:
    server: ServerOptions = ORDINARY
    history: timedelta = HISTORY


class ApiHost:
    def __init__(self, network: Network, chance: Random, options: ApiHostOptions) -> None:
        self.network = network
        self._chance = chance
        self._options = options
        self.disk = ServerDisk()
        self.process: SimulatedProcess | None = None
        """The present life; None before the first, and between two."""
        self.server: ApiServer | None = None
        """None while no server answers."""
        self.on_loaded: list[Callable[[ApiServer], None]] = []
        """Called with each server that has loaded its disk, before it answers."""
        self.on_write: list[Callable[[SimulatedProcess, Request], None]] = []
        """Called when a process sends a request that may change something."""
        self.on_acknowledged: list[Callable[[Request, Response], None]] = []
        """Called when the server has answered such a request, before the sender knows."""
        self.on_outcome: list[Callable[[SimulatedProcess, Request, Response | None], None]] = []
        """Called when the sender of such a request knows its answer, or that none will come."""

    async def run(self, process: SimulatedProcess) -> None:
        """One life, on what the disk holds; it answers as soon as it has loaded that."""
        process.when_cut(lambda: self._gone(process))
        self.process = process
        ids = seeded_ids(self._chance.getrandbits(32))
        fsync = Fsync(process.clock, derived(self._chance))
        options = replace(self._options.server, blocking=fsync)
        limits = limits_for(self._options.history)
        made = make_server(self.disk, process.clock, ids, limits, options=options)
        for listener in self.on_loaded:
            listener(made)
        async with running(made):
            self.server = made
            self.network.trace.add("apiserver", f"ready at revision {self.disk.newest}")
            await asyncio.Event().wait()

    def _gone(self, process: SimulatedProcess) -> None:
        """Requests that it was working on are carried out or not, and not answered."""
        if self.process is process:
            self.process, self.server = None, None

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Work in the server's process, which is there."""
        assert self.process is not None  # noqa: S101 - the caller has looked
        return self.process.spawn(work, name="request")


class KubeLink:
    """The way of one process to the API server. Implements `wire.transport.Transport`."""

    def __init__(self, host: ApiHost, process: SimulatedProcess, user: User = ADMIN) -> None:
        self._host = host
        self._network = host.network
        self._process = process
        self._user = user

    async def request(self, request: Request) -> Response:
        permit_now(request)
        network, sender = self._network, self._process
        if not request.is_read:
            for listener in self._host.on_write:
                listener(sender, request)
        fate = network.fates.of_request(sender, request.method, request.path)
        await sender.go_on()  # it may have been stopped right after it had asked for its permit

        def receive() -> asyncio.Task[Response] | None:
            server = self._host.server
            if server is None:
                return None
            if fate is Fate.CONFLICT:
                return self._host.begin(_answer(CONFLICT))
            return self._host.begin(self._served(server, request))

        exchange = Exchange(network, receive, lambda: self._host.process, KubeFailures(request))
        exchange.send(fate, _limit(request))
        try:
            response = await exchange.answer
        except KubeError as error:
            self._tell(request, None, str(error.failure))
            raise
        finally:
            exchange.end()
        self._tell(request, response, str(response.status))
        return response

    async def _served(self, server: ApiServer, request: Request) -> Response:
        """In the server's process."""
        response = await InProcessTransport(server, self._user).serve(request)
        if not request.is_read:
            for listener in self._host.on_acknowledged:
                listener(request, response)
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        pipe = Pipe(self._network, self._process, request.path)
        exchange: Exchange[StreamedResponse] = Exchange(
            self._network,
            lambda: self._serve_stream(request, pipe),
            lambda: self._host.process,
            KubeFailures(request),
        )
        exchange.send(Fate.ARRIVES, _limit(request))
        try:
            head = await exchange.answer
            async with aclosing(pipe.lines()) as lines:
                yield structs.replace(head, lines=lines)
        finally:
            exchange.end()
            pipe.close()

    def _serve_stream(
        self, request: Request, pipe: Pipe
    ) -> "asyncio.Future[StreamedResponse] | None":
        server = self._host.server
        if server is None:
            return None
        transport = InProcessTransport(server, self._user)
        opened: asyncio.Future[StreamedResponse] = self._network.loop.create_future()
        pump = self._host.begin(_pour(transport, request, pipe, opened))
        gone = KubeFailures(request).unknown("the other end went away")
        assert self._host.process is not None  # noqa: S101 - it serves
        forget = self._host.process.when_cut(lambda: pipe.finish(gone))
        pipe.on_close = lambda: _close(pump, forget)
        return opened

    def _tell(self, request: Request, response: Response | None, outcome: str) -> None:
        if request.is_read:
            return
        self._network.trace.add(self._process.name, f"{request.method} {request.path} -> {outcome}")
        for listener in self._host.on_outcome:
            listener(self._process, request, response)

    async def close(self) -> None:
        """There is nothing to let go of."""


def permit_now(request: Request) -> None:
    """Ask, right before the request leaves, whether it may. Raises KubeError."""
    if request.permit is not None:
        request.permit()


async def _answer(response: Response) -> Response:
    return response


def _close(pump: "asyncio.Task[None]", forget: Callable[[], None]) -> None:
    forget()
    pump.cancel()


async def _pour(
    transport: InProcessTransport,
    request: Request,
    pipe: Pipe,
    opened: "asyncio.Future[StreamedResponse]",
) -> None:
    """In the server's process: send what the watch has, until one end goes away."""

    def begin(head: StreamedResponse) -> None:
        if not opened.done():
            opened.set_result(head)

    await transport.pour(request, begin, pipe.send)
    pipe.finish()


def expire(pipe: Pipe) -> None:
    """The history that the watch would need is gone: its reader has to list again."""
    pipe.is_mute = False
    pipe.send(EXPIRED_LINE)
    pipe.finish()


def disconnect(pipe: Pipe) -> None:
    pipe.finish(KubeError(Failure.UNKNOWN_OUTCOME, "the connection broke", operation=pipe.what))


def _limit(request: Request) -> float:
    return REQUEST_SECONDS if request.timeout is None else request.timeout.total_seconds()


class KubeFailures:
    """Implements `Failures` for requests to the API server."""

    __slots__ = ("_request",)

    def __init__(self, request: Request) -> None:
        self._request = request

    def refused(self, said: str) -> KubeError:
        return self._error(Failure.UNAVAILABLE, said)

    def unknown(self, said: str) -> KubeError:
        return self._error(Failure.UNKNOWN_OUTCOME, said)

    def late(self) -> KubeError:
        return self._error(Failure.UNKNOWN_OUTCOME, "no answer in time")

    def _error(self, failure: Failure, said: str) -> KubeError:
        operation = f"{self._request.method} {self._request.path}"
        return KubeError(failure, said, operation=operation)
