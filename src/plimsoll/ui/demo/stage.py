"""How the tour uses its cluster: it creates objects, waits for states, and reads real files."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from plimsoll.api.core import Event, Lease
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document, resources_by_kind
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.provisioning.intents import INTENT, Intent, intent_in
from plimsoll.decide.records import RECORD
from plimsoll.decide.scheduling.binding.groups import GROUP, Group, group_in
from plimsoll.ui.demo.objects import NAMESPACE
from plimsoll.ui.local_cluster.objects import NAMESPACE as SYSTEM
from plimsoll.ui.local_cluster.running import LocalCluster
from plimsoll.wire.kind import DeletedObject, Kind, Upserted, WatchEvent, documents, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Selection, WatchFrom

T = TypeVar("T", bound=ApiObject)

Say = Callable[[str], None]

LONGEST_WAIT = timedelta(seconds=60)
EVENTS = typed(Event)
LEASES, RECORDS = typed(Lease), Selection(labels=f"{RECORD} in ({GROUP},{INTENT})")
CLAIMS, PODS, CAPACITIES = typed(PersistentVolumeClaim), typed(Pod), typed(CSIStorageCapacity)


class DemoFailedError(Exception):
    """What the demo expected to see did not happen."""


def _key(kind: Kind[T], name: str) -> ObjectKey:
    return ObjectKey(NAMESPACE if kind.resource.namespaced else "", name)


@asynccontextmanager
async def _in_time(otherwise: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(LONGEST_WAIT.total_seconds()):
            yield
    except TimeoutError:
        raise DemoFailedError(f"{otherwise}, after {LONGEST_WAIT}") from None


class DemoStage:
    def __init__(self, cluster: LocalCluster, client: KubeClient) -> None:
        self.cluster = cluster
        self.client = client

    async def create(self, *objects: Document) -> None:
        for document in objects:
            group, _, version = document["apiVersion"].rpartition("/")
            resource = resources_by_kind()[group, version, document["kind"]]
            await self.client.create(documents(resource), document)

    async def until(self, kind: Kind[T], name: str, seen: Callable[[T], bool]) -> T:
        """The object once it is as wanted; one that does not exist is waited for."""
        async with _in_time(f"{kind.described(_key(kind, name))} is not what it should become"):
            start, found = await self._look(kind, name)
            if found is not None and seen(found):
                return found
            async for event in self._events(kind, start):
                if isinstance(event, Upserted) and event.object.name == name and seen(event.object):
                    return event.object
        raise DemoFailedError(f"{kind.described(_key(kind, name))}: the watch ended")

    async def until_gone(self, kind: Kind[T], name: str) -> None:
        async with _in_time(f"{kind.described(_key(kind, name))} is still there"):
            start, found = await self._look(kind, name)
            if found is None:
                return
            async for event in self._events(kind, start):
                if isinstance(event, DeletedObject) and event.object.name == name:
                    return

    async def running(self, name: str, *, but_not: str = "") -> Pod:
        """`but_not` is the uid of a pod that had this name before."""
        return await self.until(
            PODS, name, lambda pod: pod.status.phase == "Running" and pod.uid != but_not
        )

    async def _look(self, kind: Kind[T], name: str) -> tuple[WatchFrom, T | None]:
        key = _key(kind, name)
        page = await self.client.list(kind, Selection(namespace=key.namespace))
        found = {item.key: item for item in page.items}.get(key)
        return WatchFrom(resource_version=page.resource_version), found

    async def _events(self, kind: Kind[T], start: WatchFrom) -> AsyncIterator[WatchEvent[T]]:
        selection = Selection(namespace=_key(kind, "").namespace)
        async with self.client.watch(kind, start, selection) as events:
            async for event in events:
                yield event

    async def warnings(self) -> list[str]:
        """What went wrong, as the events tell it."""
        page = await self.client.list(EVENTS, Selection(namespace=NAMESPACE))
        return [
            f"{event.involved_object.kind} {event.involved_object.name}:"
            f" {event.reason}: {event.message}"
            for event in page.items
            if event.type == "Warning"
        ]

    # What scheduler and provisioners note

    async def now(self) -> WatchFrom:
        """What is noted after this moment can be told later."""
        page = await self.client.list(LEASES, RECORDS)
        return WatchFrom(resource_version=page.resource_version)

    async def noted(self, since: WatchFrom, pod: str) -> list[Group | Intent]:
        """In the order in which it was noted, until the scheduler is done with the group of the
        pod: all that the server has shown of these leases."""
        found: list[Group | Intent] = []
        async with (
            _in_time(f"the group of pod {pod} comes to no end"),
            self.client.watch(LEASES, since, RECORDS) as events,
        ):
            async for event in events:
                if isinstance(event, DeletedObject):
                    group = group_in(event.object.annotations)
                    if group is not None and group.pod_key == _key(PODS, pod):
                        return found
                elif isinstance(event, Upserted):
                    annotations = event.object.annotations
                    noted = group_in(annotations) or intent_in(annotations)
                    found += [] if noted is None else [noted]
        raise DemoFailedError(f"the group of pod {pod}: the watch ended")

    async def directory(self, pod: Pod) -> Path:
        """Where the pod's volume is mounted: for real, under the node's directory."""
        sources = [volume.persistent_volume_claim for volume in pod.spec.volumes]
        claimed = next(source.claim_name for source in sources if source is not None)
        claim = await self.client.get(CLAIMS, ObjectKey(NAMESPACE, claimed))
        volumes = self.cluster.wanted.data_dir / "nodes" / pod.spec.node_name / "pods" / pod.uid
        return volumes / "volumes" / "kubernetes.io~csi" / claim.spec.volume_name / "mount"

    async def capacity(self, class_: str) -> dict[str, str]:
        """By node or zone, the capacity that is published for a class."""
        page = await self.client.list(CAPACITIES, Selection(namespace=SYSTEM))
        found: dict[str, str] = {}
        for published in page.items:
            if published.storage_class_name == class_ and published.node_topology is not None:
                labels = published.node_topology.match_labels
                by_name = {key.rpartition("/")[2]: value for key, value in labels.items()}
                place = by_name.get("node") or by_name.get("zone") or "everywhere"
                found[place] = str(published.capacity)
        return dict(sorted(found.items()))

    async def until_capacity(
        self, class_: str, wanted: Callable[[dict[str, str]], bool]
    ) -> dict[str, str]:
        clock = self.client.clock
        begun = clock.monotonic()
        while not wanted(found := await self.capacity(class_)):
            if clock.monotonic() - begun > LONGEST_WAIT.total_seconds():
                raise DemoFailedError(f"room of class {class_} stays {found}")
            await clock.sleep(timedelta(milliseconds=100))
        return found
