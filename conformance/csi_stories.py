"""What users see of a CSI driver with its sidecars, ours and others, on either API server.

Each story works in a namespace of its own, on a cluster with one node that the driver serves. It
leaves nothing behind, neither in the cluster nor in the driver. No kubelet runs: where the file
system of a volume is grown on its node, the story ends with the volume waiting for that.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance.cluster_stories import (
    CLAIMS,
    CLASSES,
    CONTAINERS,
    PODS,
    VOLUMES,
    Place,
    kind,
    place,
    uses,
)
from conformance.csi_drivers import Driver, attached_to, has_capability, made_by, segments
from plimsoll.api.meta import ObjectKey
from plimsoll.api.quantity import parse_bytes
from plimsoll.api.registry import Document, Resource
from plimsoll.wire.kind import Kind, documents
from plimsoll.wire.parameters import Selection, merge_patch

NODES = kind("Node")
CSI_NODES = kind("CSINode", "storage.k8s.io")
CSI_DRIVERS = kind("CSIDriver", "storage.k8s.io")
CAPACITIES = kind("CSIStorageCapacity", "storage.k8s.io")
ATTACHMENTS = kind("VolumeAttachment", "storage.k8s.io")

SNAPSHOT_GROUP = "snapshot.storage.k8s.io"
MANAGED = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
"""What a kubelet tells of itself: that it leaves attaching to a controller."""
SMALL, LARGE = "32Mi", "64Mi"


def _snapshot_kind(name: str, plural: str, *, namespaced: bool) -> Kind[Document]:
    """These kinds are an addition to Kubernetes, so that its tables do not have to have them."""
    resource = Resource(
        group=SNAPSHOT_GROUP,
        version="v1",
        plural=plural,
        kind=name,
        singular=name.lower(),
        namespaced=namespaced,
        short_names=(),
        categories=(),
        verbs=(),
        subresources=(),
    )
    return documents(resource)


SNAPSHOTS = _snapshot_kind("VolumeSnapshot", "volumesnapshots", namespaced=True)
CONTENTS = _snapshot_kind("VolumeSnapshotContent", "volumesnapshotcontents", namespaced=False)
SNAPSHOT_CLASSES = _snapshot_kind("VolumeSnapshotClass", "volumesnapshotclasses", namespaced=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One story's cluster, its driver, and the class of volumes that it asks for."""

    at: Place
    driver: Driver
    parameters: Mapping[str, str] = field(default_factory=dict)

    async def make_class(self, name: str, **fields: object) -> str:
        own = self.at.own(name)
        await self.at.create(
            CLASSES,
            own,
            provisioner=self.driver.name,
            parameters=dict(self.parameters),
            allowVolumeExpansion=True,
            **fields,
        )
        return own

    async def claim(self, name: str, class_name: str, **spec: object) -> None:
        wanted: Document = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": SMALL}},
            "storageClassName": class_name,
        }
        await self.at.create(CLAIMS, name, spec=wanted | spec)

    async def select_node(self, claim: str) -> None:
        """What a scheduler does with a delay-bound claim."""
        selected = {"volume.kubernetes.io/selected-node": self.driver.node}
        patch = merge_patch({"metadata": {"annotations": selected}})
        await self.at.client.patch(CLAIMS, ObjectKey(self.at.namespace, claim), patch)

    async def bound(self, name: str) -> Document:
        """The volume of a claim that got one."""
        claim = await self.at.phase(CLAIMS, name, "Bound")
        volume = await self.at.phase(VOLUMES, claim["spec"]["volumeName"], "Bound")
        assert volume["spec"]["csi"]["driver"] == self.driver.name
        assert volume["spec"]["csi"]["volumeHandle"] in await made_by(self.driver)
        return volume

    async def release(self, *claims: str) -> None:
        """Delete claims, and see their volumes go from the cluster and from the driver."""
        volumes = [await self.bound(name) for name in claims]
        for name in claims:
            await self.at.delete(CLAIMS, name)
        for volume in volumes:
            await self.at.gone(VOLUMES, volume["metadata"]["name"])
        left = {volume["spec"]["csi"]["volumeHandle"] for volume in volumes}
        assert not left & set(await made_by(self.driver)), "still in the driver"


Story = Callable[[Scene], Awaitable[None]]


async def story_a_claim_gets_a_volume_and_gives_it_back(scene: Scene) -> None:
    class_name = await scene.make_class("now")
    await scene.claim("data", class_name)
    volume = await scene.bound("data")
    assert parse_bytes(volume["spec"]["capacity"]["storage"]) >= parse_bytes(SMALL)
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    await scene.release("data")
    await scene.at.delete(CLASSES, class_name)


async def story_a_block_claim_gets_a_block_volume(scene: Scene) -> None:
    class_name = await scene.make_class("now")
    await scene.claim("data", class_name, volumeMode="Block")
    volume = await scene.bound("data")
    assert volume["spec"]["volumeMode"] == "Block"
    await scene.release("data")
    await scene.at.delete(CLASSES, class_name)


async def story_a_delay_bound_claim_gets_its_volume_at_the_selected_node(scene: Scene) -> None:
    class_name = await scene.make_class("delayed", volumeBindingMode="WaitForFirstConsumer")
    await scene.claim("data", class_name)
    await scene.at.told("data", "WaitForFirstConsumer")
    assert await made_by(scene.driver) == []
    await scene.select_node("data")
    volume = await scene.bound("data")
    reach = await segments(scene.driver)
    if reach:
        [term] = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        wanted = {each["key"]: each["values"] for each in term["matchExpressions"]}
        assert wanted == {key: [value] for key, value in reach.items()}
    await scene.release("data")
    await scene.at.delete(CLASSES, class_name)


async def story_capacity_is_published_and_follows_the_volumes(scene: Scene) -> None:
    class_name = await scene.make_class("delayed", volumeBindingMode="WaitForFirstConsumer")
    seen: list[int] = []

    async def is_published() -> bool:
        seen[:] = await published(scene.at, class_name)
        return bool(seen) and seen[0] > 0

    await scene.at.seen("capacity published", is_published)
    [before] = seen
    await scene.claim("data", class_name)
    await scene.select_node("data")
    await scene.bound("data")

    async def is_less() -> bool:
        return await published(scene.at, class_name) < [before]

    await scene.at.seen("capacity going down", is_less)
    await scene.release("data")

    async def is_back() -> bool:
        return await published(scene.at, class_name) == [before]

    await scene.at.seen("capacity coming back", is_back)
    await scene.at.delete(CLASSES, class_name)

    async def is_withdrawn() -> bool:
        return await published(scene.at, class_name) == []

    await scene.at.seen("capacity withdrawn", is_withdrawn)


async def story_a_claim_grows(scene: Scene) -> None:
    class_name = await scene.make_class("now")
    await scene.claim("data", class_name)
    name = (await scene.bound("data"))["metadata"]["name"]
    wanted = {"spec": {"resources": {"requests": {"storage": LARGE}}}}
    key = ObjectKey(scene.at.namespace, "data")
    await scene.at.client.patch(CLAIMS, key, merge_patch(wanted))

    async def has_grown() -> bool:
        volume = await scene.at.client.get(VOLUMES, ObjectKey("", name))
        claim = await scene.at.client.get(CLAIMS, key)
        is_larger = parse_bytes(volume["spec"]["capacity"]["storage"]) >= parse_bytes(LARGE)
        return is_larger and _is_told_of_its_size(claim)

    await scene.at.seen(f"{name} grown to {LARGE}", has_grown)
    await scene.release("data")
    await scene.at.delete(CLASSES, class_name)


def _is_told_of_its_size(claim: Document) -> bool:
    """The claim has its new size, or knows that only its node is missing for that."""
    conditions = {each["type"] for each in claim["status"].get("conditions", [])}
    size = parse_bytes(claim["status"]["capacity"]["storage"])
    return size >= parse_bytes(LARGE) or "FileSystemResizePending" in conditions


async def story_a_claim_is_copied(scene: Scene) -> None:
    class_name = await scene.make_class("now")
    await scene.claim("data", class_name)
    await scene.bound("data")
    source = {"kind": "PersistentVolumeClaim", "name": "data"}
    await scene.claim("copy", class_name, dataSource=source)
    await scene.bound("copy")
    await scene.release("data", "copy")
    await scene.at.delete(CLASSES, class_name)


async def story_a_snapshot_is_taken_and_restored(scene: Scene) -> None:
    class_name = await scene.make_class("now")
    snapshot_class = scene.at.own("snapshots")
    await scene.at.create(
        SNAPSHOT_CLASSES, snapshot_class, driver=scene.driver.name, deletionPolicy="Delete"
    )
    await scene.claim("data", class_name)
    await scene.bound("data")
    taken = {"persistentVolumeClaimName": "data"}
    spec = {"volumeSnapshotClassName": snapshot_class, "source": taken}
    await scene.at.create(SNAPSHOTS, "monday", spec=spec)
    content = await ready_content(scene.at, "monday")
    handle = content["status"]["snapshotHandle"]
    assert handle in await made_by(scene.driver)
    source = {"apiGroup": SNAPSHOT_GROUP, "kind": "VolumeSnapshot", "name": "monday"}
    await scene.claim("restored", class_name, dataSource=source)
    await scene.bound("restored")
    await scene.at.delete(SNAPSHOTS, "monday")
    await scene.at.gone(SNAPSHOTS, "monday")
    await scene.at.gone(CONTENTS, content["metadata"]["name"])
    assert handle not in await made_by(scene.driver), "still in the driver"
    await scene.release("data", "restored")
    await scene.at.delete(SNAPSHOT_CLASSES, snapshot_class)
    await scene.at.delete(CLASSES, class_name)


async def story_a_volume_is_attached_while_a_pod_needs_it(scene: Scene) -> None:
    class_name = await scene.make_class("now")
    await scene.claim("data", class_name)
    volume = await scene.bound("data")
    handle, node = volume["spec"]["csi"]["volumeHandle"], scene.driver.node
    spec = {"nodeName": node, "containers": CONTAINERS, "volumes": uses("data")}
    await scene.at.create(PODS, "user", spec=spec)

    async def attachments() -> list[bool]:
        page = await scene.at.client.list(ATTACHMENTS, Selection())
        return [
            item.get("status", {}).get("attached", False)
            for item in page.items
            if item["spec"]["source"].get("persistentVolumeName") == volume["metadata"]["name"]
        ]

    async def is_attached() -> bool:
        return await attachments() == [True]

    await scene.at.seen("the volume attached", is_attached)
    assert await attached_to(scene.driver, handle) == [node]
    await scene.at.delete(PODS, "user", grace=0)

    async def is_detached() -> bool:
        return await attachments() == []

    await scene.at.seen("the volume detached", is_detached)
    assert await attached_to(scene.driver, handle) == []
    await scene.release("data")
    await scene.at.delete(CLASSES, class_name)


async def ready_content(at: Place, name: str) -> Document:
    found: list[Document] = []

    async def is_ready() -> bool:
        snapshot = await at.find(SNAPSHOTS, name)
        found[:] = [snapshot] if snapshot else []
        return bool(found) and found[0].get("status", {}).get("readyToUse") is True

    await at.seen(f"snapshot {name} ready", is_ready)
    content = found[0]["status"]["boundVolumeSnapshotContentName"]
    return await at.client.get(CONTENTS, ObjectKey("", content))


async def published(at: Place, class_name: str) -> list[int]:
    """What is published for the class, in bytes."""
    page = await at.client.list(CAPACITIES, Selection())
    return [
        parse_bytes(item.get("capacity", "0"))
        for item in page.items
        if item["storageClassName"] == class_name
    ]


@contextlib.asynccontextmanager
async def served(at: Place, driver: Driver) -> AsyncIterator[None]:
    """The driver on its node, as a kubelet would have written it down."""
    reach = await segments(driver)
    entry = {"name": driver.name, "nodeID": driver.node, "topologyKeys": sorted(reach)}
    attaches = await has_capability(driver, "controller/PUBLISH_UNPUBLISH_VOLUME")
    abilities = {"attachRequired": attaches, "storageCapacity": True}
    await at.create(NODES, driver.node, metadata={"labels": reach, "annotations": MANAGED})
    await at.create(CSI_NODES, driver.node, spec={"drivers": [entry]})
    await at.create(CSI_DRIVERS, driver.name, spec=abilities)
    yield
    await at.delete(CSI_DRIVERS, driver.name)
    await at.delete(CSI_NODES, driver.node)
    await at.delete(NODES, driver.node)


VOLUME_STORIES: tuple[Story, ...] = (
    story_a_claim_gets_a_volume_and_gives_it_back,
    story_a_block_claim_gets_a_block_volume,
    story_a_delay_bound_claim_gets_its_volume_at_the_selected_node,
    story_capacity_is_published_and_follows_the_volumes,
    story_a_claim_is_copied,
)
GROWTH_STORIES: tuple[Story, ...] = (story_a_claim_grows,)
SNAPSHOT_STORIES: tuple[Story, ...] = (story_a_snapshot_is_taken_and_restored,)
ATTACHMENT_STORIES: tuple[Story, ...] = (story_a_volume_is_attached_while_a_pod_needs_it,)


async def tell(
    kubeconfig: Path,
    scene: Callable[..., Scene],
    stories: tuple[Story, ...],
    say: Callable[[str], None],
) -> None:
    """`scene` takes the place, as `at`, and knows the rest."""
    async with place(kubeconfig) as at, served(at, scene(at=at).driver):
        for story in stories:
            name: str = getattr(story, "__name__", "")
            say(name.removeprefix("story_").replace("_", " "))
            async with place(kubeconfig) as own:
                await story(scene(at=own))
