"""Publishes the driver's free capacity: GetCapacity for each segment and class, written to objects.

After everything that can change the capacity the pairs concerned are due at once; a poll makes all
pairs due. When the API for capacity is missing or forbidden, nothing but publishing waits: it has
its own client and its own watches, and what it may not write is tried again less and less often.
"""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta

from prometheus_client import Gauge

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.snapshots import VolumeSnapshotContent
from plimsoll.api.storage import CSINode, CSIStorageCapacity, StorageClass
from plimsoll.api.volumes import PersistentVolume
from plimsoll.cache.store import StoreChange
from plimsoll.decide.capacity.names import DRIVER_NAME, MANAGED_BY, TEMPLATES
from plimsoll.decide.capacity.publishing import Publisher
from plimsoll.decide.capacity.templates import NodeType, decide_templates
from plimsoll.decide.capacity.tokens import CapacityToken, find_token
from plimsoll.decide.plan import Delete, Plan
from plimsoll.enact.enactor import Done, Outcome
from plimsoll.processes.provisioner.capacity.lease import PublisherIdentity, PublisherLease
from plimsoll.processes.provisioner.capacity.queries import CapacityQueries, QueryContext
from plimsoll.processes.provisioner.capacity.tokens import TokenCounter
from plimsoll.processes.provisioner.capacity.write_retry import WriteRetry
from plimsoll.processes.provisioner.link import DriverLink
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.reconcile.observed import Observed
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.supervise import Supervision, supervise
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Selection

log = logging.getLogger(__name__)

ALL = ObjectKey("", "all")
BY_HANDLE = "by handle"
COALESCED = timedelta(milliseconds=50)
"""A burst of changes is one change."""
POLLS_BELIEVED = 3
"""After so many polls without a renewal the publisher counts as gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityContext:
    publisher: Publisher
    link: DriverLink
    client: KubeClient
    """With its own, slower pace."""
    poll_every: timedelta
    threads: int
    holder: str
    retries: Backoff
    watches_nodes: bool
    """Otherwise it is one of many publishers, and speaks for one node."""
    watches_snapshots: bool = False
    types: tuple[NodeType, ...] = ()


class Capacity(Loop):
    """Implements CapacityWatcher as well."""

    name = "capacity"

    def __init__(self, tools: Tools, *, context: CapacityContext) -> None:
        super().__init__(tools)
        self._context = context
        self._publisher = context.publisher
        self._enactor = tools.enactor.through(context.client)
        self._own = Observed(context.client)
        self._due = asyncio.Event()
        """Something was observed that has to be acted on."""
        # What is allowed again is to be published soon, however long it was not.
        pauses = Backoff(
            first=context.retries.first,
            limit=max(context.retries.first, min(context.retries.limit, context.poll_every)),
        )
        self._tokens = TokenCounter(tools.fence, tools.clock)
        self._queries = self._make_queries(pauses)
        self._tidying = WriteRetry(tools.clock, tools.chance, pauses)
        publisher = PublisherIdentity(
            holder=context.holder,
            began_at=tools.clock.now(),
            lasts=context.poll_every * POLLS_BELIEVED,
        )
        settings = context.publisher.settings
        self._lease = PublisherLease(context.client, self._enactor, settings, publisher)
        self._gauges = _gauges(tools)
        self._observe()

    def _make_queries(self, pauses: Backoff) -> CapacityQueries:
        context = QueryContext(
            publisher=self._publisher,
            link=self._context.link,
            enactor=self._enactor,
            own=self._own,
            retries=self._context.retries,
            pauses=pauses,
            on_finish=self._due.set,
            token=self._tokens.current,
        )
        return CapacityQueries(self.tools, context)

    def _observe(self) -> None:
        observed, context = self.tools.observed, self._context
        observed.of(StorageClass).on_change(self._class_changed)
        observed.of(PersistentVolume).on_change(self._volume_changed)
        observed.of(PersistentVolume).index(BY_HANDLE, _handle_of)
        if context.watches_nodes:
            observed.of(Node).on_change(self._node_changed)
            observed.of(CSINode).on_change(self._csi_node_changed)
        if context.watches_snapshots:
            # No loop waits for it: where there are no snapshots, it is never synced.
            self._own.of(VolumeSnapshotContent).on_change(self._snapshot_changed)
        capacities = self._own.of(CSIStorageCapacity)
        capacities.only(self._selection())
        capacities.on_change(self._object_changed)

    def _selection(self) -> Selection:
        settings = self._publisher.settings
        labels = f"{DRIVER_NAME}={settings.driver}"
        if not self._context.watches_nodes:
            # What the other publishers say of their nodes is not ours to know.
            labels += f",{MANAGED_BY} in ({settings.publisher},{TEMPLATES})"
        return Selection(namespace=settings.namespace, labels=labels)

    # What happens

    def token_for_volume(self) -> CapacityToken:
        return self._tokens.raised()

    def provisioned(self, volume: PersistentVolume) -> None:
        self._publisher.put_volume(volume)
        self._publisher.provisioned(volume)
        self._due.set()

    def deleted(self, volume: PersistentVolume) -> None:
        self._publisher.deleted(volume)
        self._due.set()

    def refused(self, storage_class: str) -> None:
        self._publisher.refused(storage_class)
        self._due.set()

    def undone(self, storage_class: str) -> None:
        self._publisher.undone(storage_class)
        self._due.set()

    def _class_changed(self, change: StoreChange[StorageClass]) -> None:
        if change.after is not None:
            self._publisher.put_class(change.after, self.tools.clock.now())
        else:
            self._publisher.remove_class(change.key.name, self.tools.clock.now())
        self._due.set()

    def _node_changed(self, change: StoreChange[Node]) -> None:
        if change.after is not None:
            self._publisher.put_node(change.after)
        else:
            self._publisher.remove_node(change.key.name)
        self._due.set()

    def _csi_node_changed(self, change: StoreChange[CSINode]) -> None:
        if change.after is not None:
            self._publisher.put_csi_node(change.after)
        else:
            self._publisher.remove_csi_node(change.key.name)
        self._due.set()

    def _object_changed(self, change: StoreChange[CSIStorageCapacity]) -> None:
        if change.after is not None:
            self._tokens.saw(find_token(change.after.annotations))
            self._publisher.put_object(change.after, self.tools.clock.now())
        else:
            self._publisher.remove_object(change.key)
        self._due.set()

    def _volume_changed(self, change: StoreChange[PersistentVolume]) -> None:
        """It was recorded, or another program made it larger, or deleted it."""
        before, after = change.before, change.after
        known = after or before
        if known is None or not self._is_ours(known):
            return
        if after is not None and before is None:
            # An earlier leader may have recorded it and not reported since.
            self._tokens.saw(find_token(after.annotations))
            self._publisher.put_volume(after)
            self._due.set()
        elif after is None and before is not None:
            self.deleted(before)
        elif (
            before is not None and after is not None and before.spec.capacity != after.spec.capacity
        ):
            self._publisher.expanded(after)
            self._due.set()

    def _snapshot_changed(self, change: StoreChange[VolumeSnapshotContent]) -> None:
        before, after = change.before, change.after
        content = after or before
        if content is None or content.spec.driver != self._publisher.settings.driver:
            return
        if before is None or after is None or before.status != after.status:
            for volume in self._volumes_of(content) or (None,):
                self._publisher.snapshotted(volume)
            self._due.set()

    def _volumes_of(self, content: VolumeSnapshotContent) -> list[PersistentVolume]:
        handle = content.spec.source.volume_handle
        found = self.tools.observed.of(PersistentVolume).view().by(BY_HANDLE, handle or "")
        return [volume for volume in found.values() if self._is_ours(volume)]

    def _is_ours(self, volume: PersistentVolume) -> bool:
        return volume.spec.csi is not None and (
            volume.spec.csi.driver == self._publisher.settings.driver
        )

    @property
    def depth(self) -> int:
        return self._publisher.waiting

    # What is done

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        """One look at what changed: removals, templates, the publisher's lease."""
        del key
        self._publisher.catch_up(self.tools.clock.now())
        again = await self._tidy()
        await self._lease.renew(self._publisher.rounds)
        self._show_metrics()
        return again

    async def _tidy(self) -> timedelta | None:
        """Delete and write what is due; returns when to look again."""
        if self._tidying.left:
            return self._tidying.left
        removals = self._publisher.decide_removals(self.tools.clock.now())
        outcome = await self._remove(removals)
        if isinstance(outcome, Done):
            outcome = await self._publish_templates()
        if not isinstance(outcome, Done):
            self._tidying.refused()
            return self._tidying.left
        self._tidying.succeeded()
        return removals.recheck_after

    async def run(self) -> None:
        watches = self._own.start()
        asking = self._queries.workers(self._context.threads)
        beside = {
            "poll": self._poll,
            "keep up": self._keep_up,
            "ask again": self._queries.ask_again,
        }
        tools = self.tools
        supervision = Supervision(clock=tools.clock, chance=tools.chance, metrics=tools.metrics)
        async with asyncio.TaskGroup() as group:
            group.create_task(supervise(watches, supervision))
            # Nothing is published before it is known what is there: all of it would be made again.
            await self._own.of(CSIStorageCapacity).wait_synced()
            group.create_task(supervise({**asking, **beside}, supervision))

    async def _poll(self) -> None:
        while True:
            self._publisher.catch_up(self.tools.clock.now())
            self._publisher.poll(self.tools.clock.now())
            self._due.set()
            self._queries.wake()
            await self.tools.clock.sleep(self._context.poll_every)

    async def _keep_up(self) -> None:
        """Act on changes, a burst of them at once."""
        again: timedelta | None = None
        while True:
            try:
                async with self.tools.clock.timeout(again or self._context.poll_every):
                    await self._due.wait()
            except TimeoutError:
                pass
            await self.tools.clock.sleep(COALESCED)
            self._due.clear()
            again = await self.reconcile(ALL)
            self._queries.wake()

    async def _remove(self, removals: Plan) -> Outcome:
        outcome = await self._enactor.enact(removals)
        if isinstance(outcome, Done):
            for write in removals.writes:
                if isinstance(write, Delete):
                    self._publisher.remove_object(write.key, write.uid)
        return outcome

    async def _publish_templates(self) -> Outcome:
        if not self._context.types:
            return Done()
        driver = self._publisher.settings.driver
        classes = self.tools.observed.of(StorageClass).view().objects.values()
        names = [class_.name for class_ in classes if class_.provisioner == driver]
        existing = self._own.of(CSIStorageCapacity).view().objects.values()
        plan = decide_templates(self._context.types, names, existing, self._publisher.settings)
        outcome = await self._enactor.enact(plan)
        if isinstance(outcome, Done):
            self._own.written(outcome.left)
        return outcome

    def _show_metrics(self) -> None:
        for gauge, value in zip(self._gauges, self._publisher.metrics, strict=True):
            gauge.set(value)


def _handle_of(volume: PersistentVolume) -> tuple[str, ...]:
    return (volume.spec.csi.volume_handle,) if volume.spec.csi is not None else ()


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
