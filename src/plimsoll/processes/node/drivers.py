"""The drivers that are registered on a node, and how they are called.

A driver's answer may quote what it was given. Secrets that went into a call are therefore taken
out of the text of its failure before it is logged or reported.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import TypeVar

from google.protobuf.message import Message

from plimsoll.decide.node.features import NodeFeatures
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.metrics import Children, Metrics
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.methods import NODE_GET_CAPABILITIES, Method
from plimsoll.wire.csi.redaction import without_secrets

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

WITHIN = timedelta(minutes=2)
"""How long a driver may take for a volume."""
DONE = "done"

_RPC = csi.NodeServiceCapability.RPC


class NodeCallMetrics:
    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._clock = clock
        self._seconds = Children(
            metrics.histogram(
                "plimsoll_node_driver_call_seconds",
                "How long calls to drivers took, by how they ended.",
                ["method", "outcome"],
                buckets=(0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 120),
            )
        )

    def begin(self) -> float:
        return self._clock.monotonic()

    def end(self, method: str, outcome: str, began: float) -> None:
        self._seconds.labels(method, outcome).observe(self._clock.monotonic() - began)


class RegisteredDriver:
    """One driver on one node."""

    def __init__(self, name: str, client: CsiClient, metrics: NodeCallMetrics) -> None:
        self.name = name
        self.features = NodeFeatures()
        self._client = client
        self._metrics = metrics

    async def call(
        self,
        method: Method[Request, Response],
        request: Request,
        *,
        secrets: Mapping[str, str] | None = None,
    ) -> Response:
        """Raises DriverError, without the secrets that went into the request."""
        began = self._metrics.begin()
        try:
            answer = await self._client.call(method, request, within=WITHIN)
        except DriverError as error:
            self._metrics.end(method.call, error.failure.value, began)
            detail = without_secrets(error.detail, secrets or {})
            raise DriverError(error.failure, method=method.call, detail=detail) from None
        self._metrics.end(method.call, DONE, began)
        return answer

    async def learn_features(self) -> None:
        """Raises DriverError."""
        answer = await self.call(NODE_GET_CAPABILITIES, csi.NodeGetCapabilitiesRequest())
        types = {capability.rpc.type for capability in answer.capabilities}
        self.features = NodeFeatures(
            stages=_RPC.STAGE_UNSTAGE_VOLUME in types,
            expands=_RPC.EXPAND_VOLUME in types,
            sets_group=_RPC.VOLUME_MOUNT_GROUP in types,
            tells_writers_apart=_RPC.SINGLE_NODE_MULTI_WRITER in types,
        )

    async def close(self) -> None:
        await self._client.close()


class RegisteredDrivers:
    """By name."""

    def __init__(self) -> None:
        self._by_name: dict[str, RegisteredDriver] = {}

    def find(self, name: str) -> RegisteredDriver | None:
        return self._by_name.get(name)

    @property
    def features(self) -> Mapping[str, NodeFeatures]:
        return {name: driver.features for name, driver in self._by_name.items()}

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._by_name)

    async def put(self, driver: RegisteredDriver) -> None:
        before = self._by_name.get(driver.name)
        self._by_name[driver.name] = driver
        if before is not None:
            await before.close()

    async def remove(self, name: str) -> None:
        before = self._by_name.pop(name, None)
        if before is not None:
            await before.close()
