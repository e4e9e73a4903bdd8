"""What the scheduler decides on: what was observed of the cluster, with what it assumes made true.

Handlers of every change, such as the columns that pods are judged by, are told of both. Observers,
such as bindings that wait, are told only of what was observed: an assumption proves nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from plimsoll.api.core import Lease, Namespace, Node, Service
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.policy import PodDisruptionBudget
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.api.workloads import ReplicaSet, ReplicationController, StatefulSet
from plimsoll.cache.assume import AssumingStore
from plimsoll.cache.informer import Handler, Informer
from plimsoll.cache.store import Sink, Store, StoreChange
from plimsoll.decide.provisioning.intents import DRIVER, INTENT, PROVISIONER, Intent, intent_in
from plimsoll.decide.records import RECORD
from plimsoll.decide.scheduling.binding import bind_volumes
from plimsoll.decide.scheduling.binding.bind_volumes import AllBound, Choice
from plimsoll.decide.scheduling.reasons import Finding
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import PodVolumes
from plimsoll.reconcile.indexes import PODS_BY_CLAIM, claims_of
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import EVERYTHING, UNFINISHED_PODS, Selection

T = TypeVar("T", bound=ApiObject)

FOR_EVER = float("inf")
BY_CLAIM, BY_DRIVER = "by claim", "by driver"

ChangeHandler = Callable[[ApiObject | None, ApiObject | None], None]
"""Told what an object was and is, None where there was or is none. Neither waits nor fails."""


class Stores:
    """What was observed, and what is assumed of pods, claims and volumes.

    Implements `decide.scheduling.binding.wait_for_volumes.ObservedView`: its methods tell what the
    watch has shown and nothing else, since a binding must not be confirmed by its own assumption.
    Implements `decide.scheduling.binding.bind_volumes.Assumptions` by `claims` and `volumes`.
    """

    def __init__(self) -> None:
        self.pods: AssumingStore[Pod] = AssumingStore({PODS_BY_CLAIM: claims_of})
        self.claims: AssumingStore[PersistentVolumeClaim] = AssumingStore()
        self.volumes: AssumingStore[PersistentVolume] = AssumingStore()
        self.nodes: Store[Node] = Store()
        self.classes: Store[StorageClass] = Store()
        self.drivers: Store[CSIDriver] = Store()
        self.csi_nodes: Store[CSINode] = Store()
        self.capacities: Store[CSIStorageCapacity] = Store()
        self.attachments: Store[VolumeAttachment] = Store()
        self.services: Store[Service] = Store()
        self.replication_controllers: Store[ReplicationController] = Store()
        self.replica_sets: Store[ReplicaSet] = Store()
        self.stateful_sets: Store[StatefulSet] = Store()
        self.budgets: Store[PodDisruptionBudget] = Store()
        self.namespaces: Store[Namespace] = Store()
        self.records: Store[Lease] = Store({BY_CLAIM: _claim_uid, BY_DRIVER: _driver})
        """What provisioners note; see `decide.provisioning.intents`."""

    def intent(self, claim_uid: str, hold: str) -> Intent | None:
        """The newest that a provisioner has stored for the claim while it had the hold of this
        id."""
        leases = self.records.snapshot().by(BY_CLAIM, claim_uid).values()
        found = (intent_in(lease.annotations) for lease in leases)
        return max(
            (intent for intent in found if intent is not None and intent.hold == hold),
            key=lambda intent: intent.number,
            default=None,
        )

    def takes_part(self, driver: str) -> bool:
        """Whether the provisioner of the driver respects holds."""
        return len(self.records.snapshot().by(BY_DRIVER, driver)) > 0

    def node(self, name: str) -> Node | None:
        return self.nodes.snapshot().get(ObjectKey("", name))

    def pod(self, key: ObjectKey) -> Pod | None:
        return self.pods.observed().get(key)

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        return self.claims.observed().get(key)

    def volume(self, name: str) -> PersistentVolume | None:
        return self.volumes.observed().get(ObjectKey("", name))

    def storage_class(self, name: str) -> StorageClass | None:
        return self.classes.snapshot().get(ObjectKey("", name))

    def csi_node(self, node: str) -> CSINode | None:
        return self.csi_nodes.snapshot().get(ObjectKey("", node))

    def believed(self) -> Iterator[ApiObject]:
        """Everything, with what is assumed."""
        stores: tuple[Store[Any] | AssumingStore[Any], ...] = (
            self.nodes,
            self.classes,
            self.drivers,
            self.csi_nodes,
            self.capacities,
            self.volumes,
            self.claims,
            self.attachments,
            self.services,
            self.replication_controllers,
            self.replica_sets,
            self.stateful_sets,
            self.budgets,
            self.namespaces,
            self.records,
            self.pods,
        )
        for store in stores:
            yield from store.snapshot().objects.values()


def _claim_uid(lease: Lease) -> Iterator[str]:
    if intent := intent_in(lease.annotations):
        yield intent.uid


def _driver(lease: Lease) -> Iterator[str]:
    if lease.labels.get(RECORD) == PROVISIONER:
        yield lease.annotations.get(DRIVER, "")


class TrustedRecords:
    """Implements Sink: lets in what is in namespaces that tenants cannot write to."""

    def __init__(self, store: Store[Lease], namespaces: Collection[str]) -> None:
        self._store = store
        self._namespaces = namespaces

    def put(self, key: ObjectKey, object_: Lease) -> StoreChange[Lease] | None:
        return self._store.put(key, object_) if key.namespace in self._namespaces else None

    def remove(self, key: ObjectKey, version: str) -> StoreChange[Lease] | None:
        return self._store.remove(key, version)

    def replace(self, objects: Mapping[ObjectKey, Lease]) -> list[StoreChange[Lease]]:
        trusted = {key: each for key, each in objects.items() if key.namespace in self._namespaces}
        return self._store.replace(trusted)


class SchedulerState:
    def __init__(self, record_namespaces: Collection[str] = ()) -> None:
        """Records of provisioners are believed if they are in these namespaces."""
        self.stores = Stores()
        self._record_namespaces = frozenset(record_namespaces)
        self._handlers: list[ChangeHandler] = []
        self._observers: list[ChangeHandler] = []
        self._informers: dict[str, Informer[Any]] = {}
        self._records: Informer[Lease] | None = None

    def on_change(self, handler: ChangeHandler) -> None:
        """Called for what is observed and for what is assumed or forgotten."""
        self._handlers.append(handler)

    def on_observed(self, observer: ChangeHandler) -> None:
        """Called after the handlers of every change."""
        self._observers.append(observer)

    # What is observed

    def start(self, client: KubeClient) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """The informers to run, by name."""
        stores, other = self.stores, self.observe_other
        self._watch(client, Node, stores.nodes, other)
        self._watch(client, StorageClass, stores.classes, other)
        self._watch(client, CSIDriver, stores.drivers, other)
        self._watch(client, CSINode, stores.csi_nodes, other)
        self._watch(client, CSIStorageCapacity, stores.capacities, other)
        self._watch(client, VolumeAttachment, stores.attachments, other)
        self._watch(client, Service, stores.services, other)
        self._watch(client, ReplicationController, stores.replication_controllers, other)
        self._watch(client, ReplicaSet, stores.replica_sets, other)
        self._watch(client, StatefulSet, stores.stateful_sets, other)
        self._watch(client, Namespace, stores.namespaces, other)
        self._watch(client, PersistentVolume, stores.volumes, other)
        self._watch(client, PersistentVolumeClaim, stores.claims, other)
        self._watch(client, PodDisruptionBudget, stores.budgets, other)
        self._watch(client, Pod, stores.pods, self.observe_pod)
        if self._record_namespaces:
            self._records = self._watch_records(client)
        runs = {f"watch {name}": informer.run for name, informer in self._informers.items()}
        return runs if self._records is None else {**runs, "watch records": self._records.run}

    async def synced(self) -> None:
        await asyncio.gather(*(each.wait_synced() for each in self._informers.values()))

    async def records_synced(self) -> None:
        """Apart from the others: not every scheduler may read them."""
        if self._records is not None:
            await self._records.wait_synced()

    def _watch_records(self, client: KubeClient) -> Informer[Lease]:
        only = next(iter(self._record_namespaces)) if len(self._record_namespaces) == 1 else ""
        selection = Selection(namespace=only, labels=f"{RECORD} in ({INTENT},{PROVISIONER})")
        sink = TrustedRecords(self.stores.records, self._record_namespaces)
        informer: Informer[Lease] = Informer(client, typed(Lease), sink, selection=selection)
        informer.on_change(self.observe_other)
        return informer

    def _watch(
        self, client: KubeClient, type_: type[T], store: Sink[T], handler: Handler[T]
    ) -> None:
        selection = UNFINISHED_PODS if type_ is Pod else EVERYTHING
        informer: Informer[T] = Informer(client, typed(type_), store, selection=selection)
        informer.on_change(handler)
        self._informers[type_.__name__] = informer

    def observe_pod(self, change: StoreChange[Pod]) -> None:
        seen = self.stores.pods.observed().get(change.key)
        if seen is None or seen.spec.node_name:
            self.stores.pods.forget(change.key)
        self._tell(self._handlers, change.before, change.after)
        self._tell(self._observers, change.before, change.after)

    def observe_other(self, change: StoreChange[Any]) -> None:
        self._tell(self._handlers, change.before, change.after)
        seen = change.observed or change
        self._tell(self._observers, seen.before, seen.after)

    # What was decided

    def place(self, pod: Pod, node: str) -> Pod | None:
        """Assume that the pod goes there, until the watch shows where it is. Returns it with its
        node; None: nothing is other than before."""
        change = self.stores.pods.assume(pod.key, _on_node(pod.uid, node), deadline=FOR_EVER)
        if change is None:
            return None
        self._tell(self._handlers, change.before, change.after)
        return change.after

    def is_placed(self, key: ObjectKey) -> bool:
        """Whether the pod has a node, or is assumed to go to one."""
        believed = self.stores.pods.snapshot().get(key)
        return believed is not None and bool(believed.spec.node_name)

    def displace(self, pod: Pod) -> Pod | None:
        """It does not go there after all. Returns it as it was believed to be; None: it is gone.

        A pod of the same name that came after it keeps its place.
        """
        placed = self.stores.pods.snapshot().get(pod.key)
        if placed is None or placed.uid != pod.uid:
            return None
        change = self.stores.pods.forget(pod.key)
        if change is not None:
            self._tell(self._handlers, change.before, change.after)
        return placed

    def assume(self, pod: Pod, volumes: PodVolumes, node: str) -> Choice | AllBound | Finding:
        """Assume that the pod's claims get these volumes. A finding: they cannot any more."""
        choice = bind_volumes.assume(pod, volumes, node, self.stores)
        if isinstance(choice, Choice):
            self._tell_of(choice)
        return choice

    def forget(self, choice: Choice) -> None:
        bind_volumes.forget(choice, self.stores)
        self._tell_of(choice)

    def forget_unwritten(self, choice: Choice, made: int) -> None:
        """Only so many of the writes were made."""
        bind_volumes.forget_unwritten(choice, self.stores, made)
        self._tell_of(choice)

    def _tell_of(self, choice: Choice) -> None:
        """What holds now of the objects of a choice. One that is gone was told of."""
        for binding in choice.static:
            if volume := self.stores.volumes.snapshot().get(binding.volume.key):
                self._tell(self._handlers, volume, volume)
        for key in (claim.key for claim in choice.provisions):
            if claim := self.stores.claims.snapshot().get(key):
                self._tell(self._handlers, claim, claim)

    @staticmethod
    def _tell(
        handlers: Iterable[ChangeHandler], before: ApiObject | None, after: ApiObject | None
    ) -> None:
        for handler in handlers:
            handler(before, after)


def _on_node(uid: str, node: str) -> Callable[[Pod | None], Pod | None]:
    def placed(seen: Pod | None) -> Pod | None:
        if seen is None or seen.uid != uid or seen.spec.node_name:
            return seen
        return replace(seen, spec=replace(seen.spec, node_name=node))

    return placed
