"""A CSI driver as a process: cut off, paused, and started again on the same records.

It is the driver of production on simulated pools, without sockets. `CsiLink` is the way to it.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from random import Random

from grpc import StatusCode

from plimsoll.api.registry import Document
from plimsoll.processes.driver.backends.pools.backend import PoolsBackend
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.main import handlers, running
from plimsoll.processes.driver.settings import BackendSettings, Mounts, NodeSettings, topology_key
from plimsoll.runtime.ids import seeded_ids
from plimsoll.simulator.engine.disk import DriverDisk
from plimsoll.simulator.engine.network import Exchange, Failures, Network
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.wire.csi.errors import CsiStatusError, DriverError, driver_error, unreachable
from plimsoll.wire.csi.fenced import HARMLESS_CALLS
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.transport import NO_METADATA, Metadata, Permit, permit_always

NOWHERE = Path("/nonexistent")


class DriverHost:
    def __init__(self, network: Network, chance: Random, name: str, pools: list[Document]) -> None:
        self.network = network
        self.name = name
        self._chance = chance
        self._pools = pools
        self._nodes: dict[str, NodeSettings] = {}
        self.disk = DriverDisk()
        self.process: SimulatedProcess | None = None
        self.driver: Driver | None = None
        """None while it does not answer."""
        self._handlers: dict[str, Mapping[str, Handler]] = {}
        self.on_call: list[Callable[[SimulatedProcess, str], None]] = []
        """Called when a process calls a method of the driver."""
        self.on_answer: list[Callable[[DriverHost, str, str], None]] = []
        """Called when a process has got an answer, with the method and its code."""

    def add_node(self, name: str, topology: Mapping[str, str], max_volumes: int = 0) -> None:
        """Before the first start. `topology` without the driver's prefix."""
        full = {topology_key(self.name, key): value for key, value in topology.items()}
        self._nodes[name] = NodeSettings(id=name, topology=full, max_volumes=max_volumes)

    async def run(self, process: SimulatedProcess) -> None:
        """One life, on the records that are on the disk."""
        process.when_cut(lambda: self._gone(process))
        self.process = process
        settings = BackendSettings(
            driver_name=self.name,
            data_dir=NOWHERE,
            nodes=tuple(self._nodes.values()),
            options={"pools": self._pools},
            clock=process.clock,
            ids=seeded_ids(self._chance.getrandbits(32)),
            mounts=Mounts.NONE,
        )
        async with running("pools", settings, self.disk.ledger()) as driver:
            self._handlers = {node.id: handlers(driver, node, settings) for node in settings.nodes}
            self.driver = driver
            await asyncio.Event().wait()

    def _gone(self, process: SimulatedProcess) -> None:
        if self.process is process:
            self.process, self.driver = None, None

    async def free_bytes(self) -> dict[str, int]:
        """By node, the most that one pool has for it; nothing while the driver is down."""
        pools = () if self.driver is None else await self.driver.pools()
        found: dict[str, int] = {}
        for name, node in self._nodes.items():
            told = node.topology.items()
            found[name] = max(
                (
                    extent.free_bytes
                    for pool in pools
                    if not pool.topology or any(s.items() <= told for s in pool.topology)
                    for extent in pool.extents
                ),
                default=0,
            )
        return found

    @property
    def backend(self) -> PoolsBackend | None:
        backend = None if self.driver is None else self.driver.backend
        assert backend is None or isinstance(backend, PoolsBackend)  # noqa: S101 - the one that we start
        return backend

    def begin(
        self, node: str, method: str, request: bytes, metadata: Metadata = NO_METADATA
    ) -> asyncio.Task[bytes] | None:
        if self.driver is None or self.process is None:
            return None
        handler = self._handlers[node].get(method)
        return self.process.spawn(_handled(handler, method, request, metadata), name=method)


async def _handled(
    handler: Handler | None, method: str, request: bytes, metadata: Metadata
) -> bytes:
    if handler is None:
        raise driver_error(StatusCode.UNIMPLEMENTED, method=method, detail="unknown method")
    try:
        return bytes(await handler(request, metadata))
    except CsiStatusError as refusal:
        code, told, more = refusal.code, refusal.detail, refusal.metadata
        raise driver_error(code, method=method, detail=told, metadata=more) from refusal


class CsiLink:
    """The way of one process to the driver's socket on one node. Implements CsiTransport."""

    def __init__(self, host: DriverHost, node: str, process: SimulatedProcess) -> None:
        self._host = host
        self._node = node
        self._process = process

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        host, network = self._host, self._host.network
        metadata = dict(permit())  # what follows is on its way, whatever becomes of the process
        for listener in host.on_call:
            listener(self._process, method)
        exchange = Exchange(
            network,
            lambda: host.begin(self._node, method, request, metadata),
            lambda: host.process,
            _failures(method),
        )
        exchange.send(network.fates.of_call(self._process, method), within.total_seconds())
        try:
            answer = await exchange.answer
        except asyncio.CancelledError:
            exchange.abandon()
            raise
        except DriverError as error:
            self._tell(method, f"{error.code}: {error.detail}")
            self._answered(method, error.code)
            raise
        finally:
            exchange.end()
        self._tell(method, "OK")
        self._answered(method, StatusCode.OK.name)
        return answer

    def _answered(self, method: str, code: str) -> None:
        for listener in self._host.on_answer:
            listener(self._host, method, code)

    def _tell(self, method: str, outcome: str) -> None:
        if method not in HARMLESS_CALLS:
            what = f"{method.rpartition('/')[2]} at {self._host.name} for {self._node}"
            self._host.network.trace.add(self._process.name, f"{what} -> {outcome}")

    async def close(self) -> None:
        """There is nothing to let go of."""


def _failures(method: str) -> Failures:
    def status(code: StatusCode, said: str) -> Exception:
        return driver_error(code, method=method, detail=said)

    def refused(said: str) -> Exception:
        return unreachable(method, said)

    return Failures(
        refused=refused,
        unknown=lambda said: status(StatusCode.UNAVAILABLE, said),
        late=lambda: status(StatusCode.DEADLINE_EXCEEDED, "no answer in time"),
    )
