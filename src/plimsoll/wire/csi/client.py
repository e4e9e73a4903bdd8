"""Calls to a driver with typed messages, over either transport."""

from datetime import timedelta
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.methods import Method
from plimsoll.wire.csi.transport import NO_METADATA, CsiTransport, Metadata

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

WITHIN = timedelta(seconds=10)
"""What csi-provisioner gives a driver unless told otherwise."""


class CsiClient:
    def __init__(self, transport: CsiTransport, *, within: timedelta = WITHIN) -> None:
        self._transport = transport
        self._within = within

    async def call(
        self,
        method: Method[Request, Response],
        request: Request,
        *,
        within: timedelta | None = None,
        metadata: Metadata = NO_METADATA,
    ) -> Response:
        """Raises DriverError."""
        answer = await self._transport.call(
            method.name,
            request.SerializeToString(),
            within=within or self._within,
            permit=lambda: metadata,
        )
        try:
            return method.response.FromString(answer)
        except DecodeError as error:
            unreadable = DriverFailure.UNKNOWN_OUTCOME
            detail = "the answer cannot be read"
            raise DriverError(unreadable, method=method.name, detail=detail) from error

    async def close(self) -> None:
        await self._transport.close()
