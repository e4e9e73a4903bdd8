"""A CSI driver as a process: cut off, paused, and started again on the same records.

It is the driver of production on simulated pools, without sockets. `CsiLink` is the way to it.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from grpc import StatusCode

from plimsoll.processes.driver.backends.pools.backend import PoolsBackend
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.main import handlers, running
from plimsoll.processes.driver.records import FenceRecord
from plimsoll.processes.driver.settings import BackendSettings, Mounts, NodeSettings, topology_key
from plimsoll.runtime.ids import seeded_ids
from plimsoll.simulator.cluster.asked_volumes import AskedVolumes
from plimsoll.simulator.cluster.shape import SimulatedDriver
from plimsoll.simulator.engine.chance import seconds
from plimsoll.simulator.engine.disk import DriverDisk
from plimsoll.simulator.engine.network import Exchange, Network
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.errors import CsiStatusError, DriverError, driver_error, unreachable
from plimsoll.wire.csi.fenced import HARMLESS_CALLS
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.transport import NO_METADATA, Metadata, Permit, permit_always

STOCK_PROVISIONER = "csi-provisioner-"
"""How the names of its processes begin, followed by that of the driver."""
NOWHERE = Path("/nonexistent")
AT = "@"
"""Between the name that was asked for and the node, in the name of a volume that only the driver of
that node knows. No name that is asked for has it."""
OWN_CALLS = frozenset(
    method.name
    for method in (
        methods.DELETE_NEVER_PUBLISHED,
        methods.GET_VOLUME_USE,
        methods.LIST_POOLS,
        methods.FENCE_DOMAIN,
        methods.CONFIRM_FENCE,
        methods.RELEASE_DOMAIN,
        methods.GET_DOMAIN,
        methods.LIST_DOMAINS,
    )
)
"""What only drivers of Plimsoll have."""


DELETIONS: Mapping[
    str, type[csi.DeleteVolumeRequest] | type[pools_pb2.DeleteNeverPublishedRequest]
] = {
    methods.DELETE_VOLUME.name: csi.DeleteVolumeRequest,
    methods.DELETE_NEVER_PUBLISHED.name: pools_pb2.DeleteNeverPublishedRequest,
}


class Question(StrEnum):
    """What a driver is asked about its capacity."""

    CAPACITY = "GetCapacity"
    POOLS = "ListPools"


@dataclass(frozen=True, slots=True)
class SlowAnswer:
    """One answer that is on its way for so many seconds."""

    question: Question
    by: float


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    sender: SimulatedProcess
    method: str
    request: bytes
    sent_at: float
    alone_on: str = ""
    """The node whose driver is asked, where each node has its own; empty: they are one."""


class DriverHost:
    def __init__(self, network: Network, chance: Random, described: SimulatedDriver) -> None:
        self.network = network
        self.name = described.name
        self._chance = chance
        self._pools = [*described.pools]
        self._ids_from_names = described.ids_from_names
        self.only_csi = described.only_csi
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
        self.on_success: list[Callable[[AnsweredCall], None]] = []
        """Called when a call went well."""
        self.on_refusal: list[Callable[[DriverHost, AnsweredCall, DriverError], None]] = []
        """Called when the driver has refused a call."""
        self.on_done: list[Callable[[AnsweredCall], None]] = []
        """Called when the driver has carried out a call, whether its sender learns of it or not."""
        self.fences: tuple[FenceRecord, ...] = ()
        """Of domains, as they are recorded, also while the driver is down."""
        self.on_fence: list[Callable[[FenceRecord | None, FenceRecord | None], None]] = []
        """Called when such a record has changed, with what it was and what it is."""
        self._asked = AskedVolumes()
        self._deleting: dict[str, str] = {}
        """Names of volumes that were to be deleted, by their ids."""
        self.slow_answers: list[SlowAnswer] = []
        """Those to come, in their order."""
        self.unfenced: set[str] = set()
        """Names of volumes that were asked for by a process which stood still between its permit
        and its call. A driver that knows no epochs makes them, although another leader has settled
        their intents meanwhile: nothing can keep it from that."""

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
            ids_from_names=self._ids_from_names,
        )
        async with running("pools", settings, self.disk.ledger()) as driver:
            self._handlers = {node.id: handlers(driver, node, settings) for node in settings.nodes}
            self.driver = driver
            driver.ledger.fences.on_change.append(partial(self._fence_changed, driver))
            await asyncio.Event().wait()

    def _fence_changed(
        self, driver: Driver, before: FenceRecord | None, after: FenceRecord | None
    ) -> None:
        self.fences = driver.ledger.fences.all()
        for listener in self.on_fence:
            listener(before, after)

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

    def note_asked(self, sender: SimulatedProcess, method: str, request: bytes) -> None:
        now = self.network.loop.time()
        if method == methods.CREATE_VOLUME.name:
            name = csi.CreateVolumeRequest.FromString(request).name
            self._asked.add(name, now, is_stock=sender.name.startswith(STOCK_PROVISIONER))
        elif message := DELETIONS.get(method):
            self._asked.delete(message.FromString(request).volume_id, now)

    def is_deleted_behind_stock(self, name: str, volume_id: str) -> bool:
        """Whether csi-provisioner, which asks for no intents, was given the volume while a call to
        delete it was under way: nothing keeps it from recording what is gone a moment later."""
        return self._asked.is_deleted_behind_stock(name, volume_id)

    def is_of_stock(self, volume: str) -> bool:
        """Whether csi-provisioner alone asked for the volume that has this name now: it forgets
        what it has begun when it ends, and no intent tells of it."""
        return self._asked.is_of_stock(volume)

    def _find_name(self, call: AnsweredCall) -> str | None:
        """Of the volume that the call is to delete, or that an earlier call has deleted; None:
        there was none."""
        message = DELETIONS.get(call.method)
        if message is None or self.driver is None:
            return None
        volume_id = message.FromString(call.request).volume_id
        if (record := self.driver.ledger.volumes.find(volume_id)) is not None:
            self._deleting[volume_id] = record.name
        return self._deleting.get(volume_id)

    def note_unfenced(self, method: str, request: bytes, *, stood_still: float) -> None:
        if self.only_csi and stood_still and method == methods.CREATE_VOLUME.name:
            self.unfenced.add(csi.CreateVolumeRequest.FromString(request).name)

    def receive(
        self, node: str, call: AnsweredCall, metadata: Metadata
    ) -> asyncio.Task[bytes] | None:
        deleted = self._find_name(call)
        work = self.begin(node, call.method, self._heard(call), metadata)
        if work is not None:
            done = partial(self._carried_out, call, deleted)
            work.add_done_callback(done, context=self.network.context)
        return work

    def _heard(self, call: AnsweredCall) -> bytes:
        """What the driver is asked for. One that is alone on its node gives no other driver's
        volume for a name, and finds none of theirs to delete."""
        if not call.alone_on:
            return call.request
        own = f"{AT}{call.alone_on}"
        if call.method == methods.CREATE_VOLUME.name:
            creation = csi.CreateVolumeRequest.FromString(call.request)
            creation.name += own
            return creation.SerializeToString()
        message = DELETIONS.get(call.method)
        if message is None or self.driver is None:
            return call.request
        deletion = message.FromString(call.request)
        record = self.driver.ledger.volumes.find(deletion.volume_id)
        if record is not None and not record.name.endswith(own):
            deletion.volume_id += own
        return deletion.SerializeToString()

    def _carried_out(
        self, call: AnsweredCall, deleted: str | None, work: asyncio.Task[bytes]
    ) -> None:
        if work.cancelled():
            return
        error = work.exception()
        if isinstance(error, DriverError):
            for told in self.on_refusal:
                told(self, call, error)
        elif error is None:
            if deleted is not None:
                self._asked.forget(deleted)
            for listener in self.on_done:
                listener(call)

    def begin(
        self, node: str, method: str, request: bytes, metadata: Metadata = NO_METADATA
    ) -> asyncio.Task[bytes] | None:
        if self.driver is None or self.process is None:
            return None
        handler = self._handlers[node].get(method)
        if self.only_csi:
            handler, metadata = None if method in OWN_CALLS else handler, NO_METADATA
        working = _handled(handler, method, request, metadata)
        slow = next((e for e in self.slow_answers if method.endswith(f"/{e.question}")), None)
        if slow is not None:
            self.slow_answers.remove(slow)
            working = _late(working, self.process, slow.by)
        return self.process.spawn(working, name=method)


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


async def _late(working: Coroutine[Any, Any, bytes], process: SimulatedProcess, by: float) -> bytes:
    answer = await working
    await process.clock.sleep(seconds(by))
    return answer


class CsiLink:
    """The way of one process to the driver's socket on one node. Implements CsiTransport."""

    def __init__(
        self, host: DriverHost, node: str, process: SimulatedProcess, *, is_alone: bool = False
    ) -> None:
        """`is_alone`: the driver there has volumes and names of its own."""
        self._host = host
        self._node = node
        self._process = process
        self._alone_on = node if is_alone else ""

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        host, network = self._host, self._host.network
        metadata = dict(permit())  # what follows is on its way, whatever becomes of the process
        sent_at = network.loop.time()
        for listener in host.on_call:
            listener(self._process, method)
        call = AnsweredCall(self._process, method, request, sent_at, self._alone_on)
        exchange = Exchange(
            network,
            lambda: host.receive(self._node, call, metadata),
            lambda: host.process,
            CsiFailures(method),
        )
        fate = network.fates.of_call(self._process, method)
        await self._process.go_on()  # it may have been stopped right after it had got its permit
        host.note_asked(self._process, method, request)
        host.note_unfenced(method, request, stood_still=network.loop.time() - sent_at)
        late_by = network.fates.lateness_of_call(host.name, method)
        exchange.send(fate, within.total_seconds(), late_by)
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
        for told in host.on_success:
            told(call)
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


class CsiFailures:
    """Implements `Failures` for calls of a driver."""

    __slots__ = ("_method",)

    def __init__(self, method: str) -> None:
        self._method = method

    def refused(self, said: str) -> DriverError:
        return unreachable(self._method, said)

    def unknown(self, said: str) -> DriverError:
        return driver_error(StatusCode.UNAVAILABLE, method=self._method, detail=said)

    def late(self) -> DriverError:
        told = "no answer in time"
        return driver_error(StatusCode.DEADLINE_EXCEEDED, method=self._method, detail=told)
