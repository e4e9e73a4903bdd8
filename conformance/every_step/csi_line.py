"""A line between one process and a driver: real gRPC on both sides, and each call is seen.

When the driver ends, the line breaks: its caller sees a connection that is lost, as it would
without the line.
"""

import asyncio
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import grpc
import grpc.aio

from conformance.every_step.trap import KillMoment, SeenStep, Trap
from plimsoll.wire.csi.fenced import HARMLESS_CALLS
from plimsoll.wire.csi.methods import CREATE_VOLUME, GET_VOLUME_USE

READING = HARMLESS_CALLS - {GET_VOLUME_USE.name}
"""Not steps. A rollback asks for the use of a volume before it changes anything: that is one."""


class MadeVolumes:
    """What drivers answered: the ids of the volumes that were made, by driver and name."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], set[str]] = defaultdict(set)

    def note(self, driver: str, request: bytes, answer: bytes) -> None:
        name = CREATE_VOLUME.request.FromString(request).name
        self._ids[driver, name].add(CREATE_VOLUME.response.FromString(answer).volume.volume_id)

    def made_twice(self) -> list[str]:
        """A name is used for one volume only: after it was undone, the next has another name."""
        return [
            f"{driver} made {name} as {', '.join(sorted(ids))}"
            for (driver, name), ids in self._ids.items()
            if len(ids) > 1
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineEnds:
    caller: str
    driver: str
    socket: Path
    """Where the caller finds the driver."""
    behind: Path
    """Where the driver listens."""


class CsiLine(grpc.GenericRpcHandler):
    def __init__(self, ends: LineEnds, trap: Trap, made: MadeVolumes) -> None:
        self._ends = ends
        self._trap = trap
        self._made = made
        self._server: grpc.aio.Server | None = None
        self._channel: grpc.aio.Channel | None = None

    async def open(self) -> None:
        """Begins when the driver answers."""
        await until_listening(self._ends.behind)
        self._channel = grpc.aio.insecure_channel(f"unix:{self._ends.behind}")
        self._server = grpc.aio.server()
        self._server.add_generic_rpc_handlers((self,))
        self._ends.socket.unlink(missing_ok=True)
        self._server.add_insecure_port(f"unix:{self._ends.socket}")
        await self._server.start()

    async def close(self) -> None:
        server, channel = self._server, self._channel
        self._server = self._channel = None
        if server is not None:
            await server.stop(None)
        if channel is not None:
            await channel.close()

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> "grpc.RpcMethodHandler[bytes, bytes]":
        method = handler_call_details.method

        async def call(request: bytes, context: "grpc.aio.ServicerContext[bytes, bytes]") -> bytes:
            return await self._forward(method, request, context)

        return grpc.unary_unary_rpc_method_handler(call)

    async def _forward(
        self, method: str, request: bytes, context: "grpc.aio.ServicerContext[bytes, bytes]"
    ) -> bytes:
        step = SeenStep(self._ends.caller, self._ends.driver, method.rpartition("/")[2])
        fate = None if method in READING else self._trap.fate(step)
        if fate is KillMoment.BEFORE:
            self._trap.spring(step)
            await context.abort(grpc.StatusCode.UNAVAILABLE, "one of both is gone")
        try:
            answer = await self._sent(method, request, context)
        except grpc.aio.AioRpcError as error:
            if fate is KillMoment.AFTER:
                self._trap.spring(step)
            told = tuple(error.trailing_metadata() or ())
            await context.abort(error.code(), error.details() or "", told)
        if fate is KillMoment.AFTER:
            self._trap.spring(step)
            await context.abort(grpc.StatusCode.UNAVAILABLE, "one of both is gone")
        return answer

    async def _sent(
        self, method: str, request: bytes, context: "grpc.aio.ServicerContext[bytes, bytes]"
    ) -> bytes:
        if self._channel is None:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the driver is gone")
        send: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(method)
        answer = await send(
            request, timeout=context.time_remaining(), metadata=_kept(context.invocation_metadata())
        )
        if method == CREATE_VOLUME.name:
            self._made.note(self._ends.driver, request, answer)
        return answer


def _kept(metadata: object) -> tuple[tuple[str, str], ...]:
    """What a caller has set, without what gRPC sets itself."""
    return tuple(
        (key, value)
        for key, value in metadata or ()  # type: ignore[attr-defined]
        if not re.match(r"grpc-|user-agent|:", key)
    )


async def until_listening(socket: Path) -> None:
    while True:
        try:
            _, writer = await asyncio.open_unix_connection(str(socket))
        except OSError:
            await asyncio.sleep(0.02)
            continue
        writer.close()
        return
