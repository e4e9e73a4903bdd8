"""Calls to a driver over gRPC: its unix socket, as a rule, or a TCP address.

gRPC reports a driver that was never reached and a connection that broke in the middle of a call
with the same code. The difference decides whether a volume may exist, so a call is sent only over
a connection that stands: what fails before that surely had no effect.
"""

import asyncio
from datetime import timedelta

import grpc
import grpc.aio

from plimsoll.wire.csi.errors import driver_error, unreachable
from plimsoll.wire.csi.transport import Permit, permit_always, text_metadata

METADATA_BYTES = 16 * 2**20
OPTIONS = (
    # An answer that is refused for its size would look as if the driver had no capacity.
    ("grpc.max_receive_message_length", -1),
    # So would a refusal, whatever its code, with a text of more than a few KiB. Go takes as much.
    ("grpc.max_metadata_size", METADATA_BYTES),
    ("grpc.absolute_max_metadata_size", METADATA_BYTES),
    # Drivers are restarted beside us: the default waits up to two minutes before it looks again.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Its name misleads: how long one attempt may take. Busy machines are slow to shake hands.
    ("grpc.min_reconnect_backoff_ms", 20_000),
    # A connection is kept, however long nothing is said: its end is a sign.
    ("grpc.client_idle_timeout_ms", 2**31 - 1),
    # Environment variables for the outside world do not concern a driver.
    ("grpc.enable_http_proxy", 0),
)


class GrpcTransport:
    """Implements CsiTransport.

    `address` as gRPC takes it: `unix:///run/csi/csi.sock`, `127.0.0.1:10000`. Belongs to the event
    loop that runs when it is made.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._channel = grpc.aio.insecure_channel(address, options=OPTIONS)

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within.total_seconds()
        try:
            async with asyncio.timeout_at(deadline):
                await self._connect(method)
        except TimeoutError as error:
            raise unreachable(method, f"{self._address}: no connection in time") from error
        try:
            # Without serializers, bytes pass as they are.
            send: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(method)
            metadata = tuple(permit().items())  # the connection stands: nothing is waited for now
            return await send(
                request, timeout=max(deadline - loop.time(), 0), metadata=metadata or None
            )
        except grpc.aio.AioRpcError as error:
            detail = error.details() or error.code().name
            told = text_metadata(error.trailing_metadata())
            raise driver_error(error.code(), method=method, detail=detail, metadata=told) from error

    async def _connect(self, method: str) -> None:
        """Return when a connection stands; raise when there is none to be had now."""
        state = self._channel.get_state(try_to_connect=True)
        while state is not grpc.ChannelConnectivity.READY:
            if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                raise unreachable(method, f"{self._address}: no process listens there")
            if state is grpc.ChannelConnectivity.SHUTDOWN:
                raise unreachable(method, f"{self._address}: this transport is closed")
            await self._channel.wait_for_state_change(state)
            state = self._channel.get_state(try_to_connect=True)

    async def lost(self) -> None:
        """Return when a connection that stood is broken."""
        state = self._channel.get_state(try_to_connect=True)
        while state is not grpc.ChannelConnectivity.READY:
            await self._channel.wait_for_state_change(state)
            state = self._channel.get_state(try_to_connect=True)
        await self._channel.wait_for_state_change(grpc.ChannelConnectivity.READY)

    async def close(self) -> None:
        await self._channel.close()
