"""What the scheduler decides on: what was observed of the cluster, with what it assumes made true.

Handlers of every change, such as the columns that pods are judged by, are told of both. Observers,
such as bindings that wait, are told only of what was observed: an assumption proves nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.assume import AssumingStore
from plimsoll.cache.informer import Handler, Informer
from plimsoll.cache.store import Sink, Store, StoreChange
from plimsoll.decide.scheduling.binding import bind_volumes
from plimsoll.decide.scheduling.binding.bind_volumes import AllBound, Choice
from plimsoll.decide.scheduling.reasons import Finding
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import PodVolumes
from plimsoll.reconcile.indexes import PODS_BY_CLAIM, claims_of
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import EVERYTHING, Selection

T = TypeVar("T", bound=ApiObject)

UNFINISHED = Selection(fields="status.phase!=Succeeded,status.phase!=Failed")
"""Pods that have ended take nothing of a node, and use no volume."""
FOR_EVER = float("inf")

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
            self.pods,
        )
        for store in stores:
            yield from store.snapshot().objects.values()


class SchedulerState:
    def __init__(self) -> None:
        self.stores = Stores()
        self._handlers: list[ChangeHandler] = []
        self._observers: list[ChangeHandler] = []
        self._informers: dict[str, Informer[Any]] = {}

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
        self._watch(client, PersistentVolume, stores.volumes, other)
        self._watch(client, PersistentVolumeClaim, stores.claims, other)
        self._watch(client, Pod, stores.pods, self.observe_pod)
        return {f"watch {name}": informer.run for name, informer in self._informers.items()}

    async def synced(self) -> None:
        await asyncio.gather(*(each.wait_synced() for each in self._informers.values()))

    def _watch(
        self, client: KubeClient, type_: type[T], store: Sink[T], handler: Handler[T]
    ) -> None:
        selection = UNFINISHED if type_ is Pod else EVERYTHING
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

    def place(self, pod: Pod, node: str) -> None:
        """Assume that the pod goes there, until the watch shows where it is."""
        change = self.stores.pods.assume(pod.key, _on_node(pod.uid, node), deadline=FOR_EVER)
        if change is not None:
            self._tell(self._handlers, change.before, change.after)

    def displace(self, pod: Pod) -> None:
        """It does not go there after all."""
        change = self.stores.pods.forget(pod.key)
        if change is not None:
            self._tell(self._handlers, change.before, change.after)

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
