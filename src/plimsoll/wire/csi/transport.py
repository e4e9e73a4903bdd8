"""The protocol between the CSI client and what carries its calls to a driver.

Two transports exist: gRPC (`grpc_transport`), and in-process (`inprocess`). Both carry bytes, so a
caller cannot tell them apart and shares no mutable object with the driver. A transport knows
nothing of messages: the client encodes them on one side and the driver on the other.
"""

from datetime import timedelta
from typing import Protocol


class CsiTransport(Protocol):
    async def call(self, method: str, request: bytes, *, within: timedelta) -> bytes:
        """One call, and the driver's answer.

        `method` is the full name: `/csi.v1.Controller/CreateVolume`. Raises DriverError when there
        is no answer within that time, or a refusal.
        """
        ...

    async def close(self) -> None:
        """Let go of connections; the transport is of no use afterwards."""
        ...
