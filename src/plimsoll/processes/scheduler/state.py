"""What the scheduler believes of the cluster: what was observed, with its own decisions made true.

Whoever judges pods is told of every change of belief. Whoever waits for something to happen is told
only of what was observed: one's own decisions prove nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
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
from plimsoll.cache.store import Sink, Store, StoreChange, View
from plimsoll.decide.scheduling.assumptions import Assumed, AssumingView, Assumptions
from plimsoll.decide.scheduling.binding import bind_volumes
from plimsoll.decide.scheduling.binding.bind_volumes import AllBound, Choice
from plimsoll.decide.scheduling.reasons import Finding
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import PodVolumes
from plimsoll.decide.scheduling.view import claim_names
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import EVERYTHING, Selection

T = TypeVar("T", bound=ApiObject)

UNFINISHED = Selection(fields="status.phase!=Succeeded,status.phase!=Failed")
"""Pods that have ended take nothing of a node, and use no volume."""
FOR_EVER = float("inf")

Believer = Callable[[ApiObject | None, ApiObject | None], None]
"""Told what an object was and is, None where there was or is none. Neither waits nor fails."""


class Stores:
    """What the watch has shown. Pods alone are shown where they were decided to go.

    Implements `decide.scheduling.binding.wait_for_volumes.ObservedView`.
    """

    def __init__(self) -> None:
        self.pods: AssumingStore[Pod] = AssumingStore()
        self.nodes: Store[Node] = Store()
        self.claims: Store[PersistentVolumeClaim] = Store()
        self.volumes: Store[PersistentVolume] = Store()
        self.classes: Store[StorageClass] = Store()
        self.drivers: Store[CSIDriver] = Store()
        self.csi_nodes: Store[CSINode] = Store()
        self.capacities: Store[CSIStorageCapacity] = Store()
        self.attachments: Store[VolumeAttachment] = Store()

    def node(self, name: str) -> Node | None:
        return self.nodes.snapshot().get(ObjectKey("", name))

    def pod(self, key: ObjectKey) -> Pod | None:
        return self.pods.snapshot().get(key)

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        return self.claims.snapshot().get(key)

    def volume(self, name: str) -> PersistentVolume | None:
        return self.volumes.snapshot().get(ObjectKey("", name))

    def volumes_of_class(self, name: str) -> Sequence[PersistentVolume]:
        return _those(self.volumes.snapshot(), lambda volume: volume.storage_class == name)

    def storage_class(self, name: str) -> StorageClass | None:
        return self.classes.snapshot().get(ObjectKey("", name))

    def csi_driver(self, name: str) -> CSIDriver | None:
        return self.drivers.snapshot().get(ObjectKey("", name))

    def csi_node(self, node: str) -> CSINode | None:
        return self.csi_nodes.snapshot().get(ObjectKey("", node))

    def capacities_of_class(self, name: str) -> Sequence[CSIStorageCapacity]:
        return _those(self.capacities.snapshot(), lambda each: each.storage_class_name == name)

    def attachments_to(self, node: str) -> Sequence[VolumeAttachment]:
        return _those(self.attachments.snapshot(), lambda each: each.spec.node_name == node)

    def pods_on(self, node: str) -> Sequence[Pod]:
        return _those(self.pods.snapshot(), lambda pod: pod.spec.node_name == node)

    def is_claim_in_use(self, key: ObjectKey) -> bool:
        namespace, name = key
        return any(
            pod.spec.node_name and pod.namespace == namespace and name in claim_names(pod)
            for pod in self.pods.snapshot().objects.values()
        )


class SchedulerState:
    def __init__(self) -> None:
        self.observed = Stores()
        self.assumptions = Assumptions()
        self.believed = AssumingView(self.observed, self.assumptions)
        self._believers: list[Believer] = []
        self._watchers: list[Believer] = []
        self._informers: dict[str, Informer[Any]] = {}

    def on_belief(self, believer: Believer) -> None:
        self._believers.append(believer)

    def on_observed(self, watcher: Believer) -> None:
        """Called after the believers were told."""
        self._watchers.append(watcher)

    # What is observed

    def start(self, client: KubeClient) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """The informers to run, by name."""
        stores, other = self.observed, self.observe_other
        self._watch(client, Node, stores.nodes, other)
        self._watch(client, StorageClass, stores.classes, other)
        self._watch(client, CSIDriver, stores.drivers, other)
        self._watch(client, CSINode, stores.csi_nodes, other)
        self._watch(client, CSIStorageCapacity, stores.capacities, other)
        self._watch(client, VolumeAttachment, stores.attachments, other)
        self._watch(client, PersistentVolume, stores.volumes, self.observe_volume)
        self._watch(client, PersistentVolumeClaim, stores.claims, self.observe_claim)
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
        seen = self.observed.pods.observed().get(change.key)
        if seen is None or seen.spec.node_name:
            self.observed.pods.forget(change.key)
        self._tell(self._believers, change.before, change.after)
        self._tell(self._watchers, change.before, change.after)

    def observe_volume(self, change: StoreChange[PersistentVolume]) -> None:
        self._observe(self.assumptions.volumes, change)

    def observe_claim(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        self._observe(self.assumptions.claims, change)

    def observe_other(self, change: StoreChange[Any]) -> None:
        self._tell(self._believers, change.before, change.after)
        self._tell(self._watchers, change.before, change.after)

    def _observe(self, assumed: Assumed[T], change: StoreChange[T]) -> None:
        before = change.before and assumed.shown(change.before)
        assumed.observe(change.key, change.after)
        after = change.after and assumed.shown(change.after)
        self._tell(self._believers, before, after)
        self._tell(self._watchers, change.before, change.after)

    # What was decided

    def place(self, pod: Pod, node: str) -> None:
        """Believe that the pod goes there, until the watch shows where it is."""
        change = self.observed.pods.assume(pod.key, _on_node(pod.uid, node), deadline=FOR_EVER)
        if change is not None:
            self._tell(self._believers, change.before, change.after)

    def displace(self, pod: Pod) -> None:
        """It does not go there after all."""
        change = self.observed.pods.forget(pod.key)
        if change is not None:
            self._tell(self._believers, change.before, change.after)

    def assume(self, pod: Pod, volumes: PodVolumes, node: str) -> Choice | AllBound | Finding:
        """Believe that the pod's claims get these volumes. A finding: they cannot any more."""
        choice = bind_volumes.assume(pod, volumes, node, self.believed)
        if isinstance(choice, Choice):
            self._tell_of(choice)
        return choice

    def forget(self, choice: Choice) -> None:
        bind_volumes.forget(choice, self.assumptions)
        self._tell_of(choice)

    def forget_unwritten(self, choice: Choice, made: int) -> None:
        """Only so many of the writes were made."""
        bind_volumes.forget_unwritten(choice, self.assumptions, made)
        self._tell_of(choice)

    def _tell_of(self, choice: Choice) -> None:
        """Whatever is believed now of the objects of a choice. One that is gone was told of."""
        for binding in choice.static:
            if volume := self.believed.volume(binding.volume.name):
                self._tell(self._believers, volume, volume)
        for key in (claim.key for claim in choice.provisions):
            if claim := self.believed.claim(key):
                self._tell(self._believers, claim, claim)

    @staticmethod
    def _tell(
        believers: Iterable[Believer], before: ApiObject | None, after: ApiObject | None
    ) -> None:
        for believer in believers:
            believer(before, after)


def _on_node(uid: str, node: str) -> Callable[[Pod | None], Pod | None]:
    def placed(seen: Pod | None) -> Pod | None:
        if seen is None or seen.uid != uid or seen.spec.node_name:
            return seen
        return replace(seen, spec=replace(seen.spec, node_name=node))

    return placed


def _those(view: View[T], are_wanted: Callable[[T], bool]) -> list[T]:
    """By name. Whoever judges pods has indexes; here nobody asks often."""
    return [object_ for _, object_ in sorted(view.objects.items()) if are_wanted(object_)]
