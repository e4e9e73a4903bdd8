"""Publishes the driver's room: asks it segment by segment and class by class, and writes it down.

Everything that can change the room asks for the pairs concerned at once; a poll asks for all. When
the API for capacity is missing or forbidden, nothing but publishing waits: it has its own client
and its own watches, which try again after a while.
"""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta

from prometheus_client import Gauge

from plimsoll.api.core import Lease, Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.snapshots import VolumeSnapshotContent
from plimsoll.api.storage import CSINode, CSIStorageCapacity, StorageClass
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume
from plimsoll.cache.store import Change
from plimsoll.decide.capacity.freshness import Look, decide_lease, publisher_lease
from plimsoll.decide.capacity.names import DRIVER_NAME, MANAGED_BY
from plimsoll.decide.capacity.published import Pair
from plimsoll.decide.capacity.publishing import Publisher
from plimsoll.decide.capacity.reports import Answer, Publishing
from plimsoll.decide.capacity.templates import NodeType, decide_templates
from plimsoll.decide.plan import Plan
from plimsoll.enact.enactor import Done, Overtaken
from plimsoll.processes.provisioner.link import DriverLink
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.reconcile.observed import Observed
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.supervise import Supervision, supervise
from plimsoll.runtime.workqueue import WorkQueue
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Selection

log = logging.getLogger(__name__)

LEASES = typed(Lease)
CAPACITIES = typed(CSIStorageCapacity)
SNAPSHOT_API = "/apis/snapshot.storage.k8s.io/v1"
ALL = ObjectKey("", "all")
COALESCED = timedelta(milliseconds=50)
"""A burst of changes is one change."""
POLLS_BELIEVED = 3
"""After so many polls without a sign nobody looks any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityMeans:
    publisher: Publisher
    link: DriverLink
    client: KubeClient
    """With its own, slower pace."""
    poll_every: timedelta
    threads: int
    holder: str
    retries: Backoff
    types: tuple[NodeType, ...] = ()


class Capacity(Loop):
    """Implements RoomWatcher as well."""

    name = "capacity"

    def __init__(self, tools: Tools, *, means: CapacityMeans, watches_nodes: bool) -> None:
        super().__init__(tools)
        self._means = means
        self._publisher = means.publisher
        self._enactor = tools.enactor.through(means.client)
        self._own = Observed(means.client)
        self._due = asyncio.Event()
        """Something was observed that has to be acted on."""
        self._to_ask = asyncio.Event()
        """There may be pairs to ask the driver about."""
        self._retries: WorkQueue[Pair] = WorkQueue(tools.clock, tools.chance, means.retries)
        self._began_at = tools.clock.now()
        self._told_at = self._publisher.rounds.looked_at
        self._gauges = _gauges(tools)
        self._observe(watches_nodes=watches_nodes)

    def _observe(self, *, watches_nodes: bool) -> None:
        observed = self.tools.observed
        observed.of(StorageClass).on_change(self._class_changed)
        observed.of(PersistentVolume).on_change(self._volume_changed)
        if watches_nodes:
            observed.of(Node).on_change(self._node_changed)
            observed.of(CSINode).on_change(self._csi_node_changed)
        settings = self._publisher.settings
        capacities = self._own.of(CSIStorageCapacity)
        labels = f"{DRIVER_NAME}={settings.driver}"
        if not watches_nodes:
            # One of many publishers: what the others publish is not ours to know.
            labels += f",{MANAGED_BY}={settings.publisher}"
        capacities.only(Selection(namespace=settings.namespace, labels=labels))
        capacities.on_change(self._object_changed)

    # What happens

    def provisioned(self, volume: PersistentVolume) -> None:
        self._publisher.provisioned(volume)
        self._due.set()

    def deleted(self, volume: PersistentVolume) -> None:
        self._publisher.deleted(volume)
        self._due.set()

    def refused(self, storage_class: str) -> None:
        self._publisher.refused(storage_class)
        self._due.set()

    def _class_changed(self, change: Change[StorageClass]) -> None:
        if change.after is not None:
            self._publisher.put_class(change.after, self.tools.clock.now())
        else:
            self._publisher.remove_class(change.key.name, self.tools.clock.now())
        self._due.set()

    def _node_changed(self, change: Change[Node]) -> None:
        if change.after is not None:
            self._publisher.put_node(change.after)
        else:
            self._publisher.remove_node(change.key.name)
        self._due.set()

    def _csi_node_changed(self, change: Change[CSINode]) -> None:
        if change.after is not None:
            self._publisher.put_csi_node(change.after)
        else:
            self._publisher.remove_csi_node(change.key.name)
        self._due.set()

    def _object_changed(self, change: Change[CSIStorageCapacity]) -> None:
        if change.after is not None:
            self._publisher.put_object(change.after, self.tools.clock.now())
        else:
            self._publisher.remove_object(change.key)
        self._due.set()

    def _volume_changed(self, change: Change[PersistentVolume]) -> None:
        """Another program made it larger, or deleted it."""
        before, after = change.before, change.after
        known = after or before
        if known is None or not self._is_ours(known):
            return
        if after is None and before is not None:
            self.deleted(before)
        elif (
            before is not None and after is not None and before.spec.capacity != after.spec.capacity
        ):
            self._publisher.expanded(after)
            self._due.set()

    def _snapshot_changed(self, change: Change[VolumeSnapshotContent]) -> None:
        before, after = change.before, change.after
        content = after or before
        if content is None or content.spec.driver != self._publisher.settings.driver:
            return
        if before is None or after is None or before.status != after.status:
            for volume in self._volumes_of(content):
                self._publisher.snapshotted(volume)
            self._due.set()

    def _volumes_of(self, content: VolumeSnapshotContent) -> list[PersistentVolume]:
        handle = content.spec.source.volume_handle
        volumes = self.tools.observed.of(PersistentVolume).view().objects.values()
        return [
            volume
            for volume in volumes
            if self._is_ours(volume) and volume.spec.csi and volume.spec.csi.volume_handle == handle
        ]

    def _is_ours(self, volume: PersistentVolume) -> bool:
        return volume.spec.csi is not None and (
            volume.spec.csi.driver == self._publisher.settings.driver
        )

    # What is done

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        """One look at what changed: removals, templates, the publisher's lease."""
        del key
        now = self.tools.clock.now()
        self._publisher.catch_up(now)
        removals = self._publisher.decide_removals(now)
        await self._enact(removals)
        await self._publish_templates()
        await self._renew_lease()
        self._show_metrics()
        return removals.recheck_after

    async def run(self) -> None:
        if await self._has_snapshots():
            self._own.of(VolumeSnapshotContent).on_change(self._snapshot_changed)
        watches = self._own.start()
        asking = {f"ask {number}": self._ask for number in range(self._means.threads)}
        beside = {"poll": self._poll, "keep up": self._keep_up, "ask again": self._ask_again}
        tools = self.tools
        supervision = Supervision(clock=tools.clock, chance=tools.chance, metrics=tools.metrics)
        async with asyncio.TaskGroup() as group:
            group.create_task(supervise(watches, supervision))
            # Nothing is published before it is known what is there: all of it would be made again.
            await self._own.of(CSIStorageCapacity).wait_synced()
            group.create_task(supervise({**asking, **beside}, supervision))

    async def _has_snapshots(self) -> bool:
        try:
            await self._means.client.raw_get(SNAPSHOT_API)
        except KubeError:
            return False
        return True

    async def _poll(self) -> None:
        while True:
            self._publisher.catch_up(self.tools.clock.now())
            self._publisher.poll(self.tools.clock.now())
            self._due.set()
            self._wake()
            await self.tools.clock.sleep(self._means.poll_every)

    async def _keep_up(self) -> None:
        """Act on changes, a burst of them at once."""
        again: timedelta | None = None
        while True:
            try:
                async with self.tools.clock.timeout(again or self._means.poll_every):
                    await self._due.wait()
            except TimeoutError:
                pass
            await self.tools.clock.sleep(COALESCED)
            self._due.clear()
            again = await self.reconcile(ALL)
            self._wake()

    async def _ask_again(self) -> None:
        while True:
            pair = await self._retries.get()
            self._retries.done(pair)
            self._publisher.ask(pair)
            self._wake()

    def _wake(self) -> None:
        if self._publisher.waiting:
            self._to_ask.set()

    async def _ask(self) -> None:
        while True:
            pair = self._publisher.take()
            if pair is None:
                self._to_ask.clear()
                await self._to_ask.wait()
                continue
            try:
                await self._ask_about(pair)
            finally:
                self._publisher.finish(pair, self.tools.clock.now())
                self._due.set()

    async def _ask_about(self, pair: Pair) -> None:
        question = self._publisher.question(pair)
        if question is None:
            return
        request = csi.GetCapacityRequest(
            parameters=question.parameters,
            accessible_topology=csi.Topology(segments=question.topology),
        )
        try:
            answer = _answer(await self._means.link.call(methods.GET_CAPACITY, request))
        except DriverError as error:
            log.warning("capacity unknown", extra={**_named(pair), "error": str(error)})
            self._publisher.unanswered(pair)
            self._retries.add_rate_limited(pair)
            return
        outcome = await self._enact(self._publisher.answered(pair, answer, self.tools.clock.now()))
        if outcome:
            self._retries.forget(pair)
        else:
            self._retries.add_rate_limited(pair)

    async def _enact(self, plan: Plan) -> bool:
        """Whether it was written, or need not be; what was written is believed at once."""
        outcome = await self._enactor.enact(plan)
        if isinstance(outcome, Done):
            for document in outcome.left:
                if document.get("kind") == "CSIStorageCapacity":
                    seen = from_document(CSIStorageCapacity, document)
                    self._publisher.put_object(seen, self.tools.clock.now())
            return True
        return isinstance(outcome, Overtaken) and plan.reason == Publishing.REMOVED

    async def _publish_templates(self) -> None:
        if not self._means.types:
            return
        driver = self._publisher.settings.driver
        classes = self.tools.observed.of(StorageClass).view().objects.values()
        names = [class_.name for class_ in classes if class_.provisioner == driver]
        existing = self._own.of(CSIStorageCapacity).view().objects.values()
        plan = decide_templates(self._means.types, names, existing, self._publisher.settings)
        outcome = await self._enactor.enact(plan)
        if isinstance(outcome, Done):
            self._own.written(outcome.left)

    async def _renew_lease(self) -> None:
        """Once for each round that was completed."""
        rounds = self._publisher.rounds
        looked_at = rounds.looked_at
        if looked_at is None or looked_at == self._told_at:
            return
        settings = self._publisher.settings
        look = Look(
            holder=self._means.holder,
            began_at=self._began_at,
            looked_at=looked_at,
            lasts=self._means.poll_every * POLLS_BELIEVED,
            oldest_report_at=rounds.oldest_report_at,
            unanswered=rounds.unanswered_count,
        )
        try:
            known = await self._means.client.find(LEASES, publisher_lease(settings))
        except KubeError as error:
            log.warning("lease not read", extra={"error": str(error)})
            return
        if isinstance(await self._enactor.enact(decide_lease(known, look, settings)), Done):
            self._told_at = looked_at

    def _show_metrics(self) -> None:
        for gauge, value in zip(self._gauges, self._publisher.metrics, strict=True):
            gauge.set(value)


def _answer(answer: csi.GetCapacityResponse) -> Answer:
    largest = answer.maximum_volume_size.value if answer.HasField("maximum_volume_size") else None
    return Answer(answer.available_capacity, largest)


def _named(pair: Pair) -> dict[str, str]:
    segment = ",".join(f"{key}={value}" for key, value in pair.segment)
    return {"segment": segment, "class": pair.storage_class}


def _gauges(tools: Tools) -> tuple[Gauge, Gauge, Gauge]:
    about = {
        "desired_goal": "Capacity objects that should exist.",
        "desired_current": "Capacity objects that should exist, and do.",
        "obsolete": "Capacity objects that exist and are about a segment or class that is gone.",
    }
    goal, current, obsolete = (
        tools.metrics.gauge(f"csistoragecapacities_{name}", text) for name, text in about.items()
    )
    return goal, current, obsolete
