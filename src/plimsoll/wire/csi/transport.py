"""The protocol between the CSI client and what carries its calls to a driver.

Two transports exist: gRPC (`grpc_transport`), and in-process (`inprocess`). Both carry bytes, so a
caller cannot tell them apart and shares no mutable object with the driver. A transport knows
nothing of messages: the client encodes them on one side and the driver on the other.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Protocol

Metadata = Mapping[str, str]
"""What a call carries beside its request; drivers ignore the keys that they do not know."""
NO_METADATA: Metadata = {}


def text_metadata(given: Iterable[tuple[str, str | bytes]] | None) -> Metadata:
    """What gRPC gives, without the values that are not text."""
    return {key: value for key, value in given or () if isinstance(value, str)}


Permit = Callable[[], Metadata]
"""Asked when everything that a call has to wait for is there, right before it is sent. Returns the
metadata that the call carries. What it raises keeps the call from being sent."""


def permit_always() -> Metadata:
    """For calls that every process may make at any time."""
    return NO_METADATA


class CsiTransport(Protocol):
    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        """One call, and the driver's answer.

        `method` is the full name: `/csi.v1.Controller/CreateVolume`. Raises DriverError when there
        is no answer within that time, or a refusal; and what `permit` raises.
        """
        ...

    async def close(self) -> None:
        """Let go of connections; the transport is of no use afterwards."""
        ...
