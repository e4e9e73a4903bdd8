"""The users of a simulated cluster: what each of their actions is made of.

A user tries again until it is done, whatever the server says meanwhile.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.api.quantity import parse_bytes
from plimsoll.api.registry import Document
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.processes.driver.settings import topology_key
from plimsoll.simulator.choices import selected_node
from plimsoll.simulator.cluster.driver_host import CsiLink
from plimsoll.simulator.cluster.objects import key_in, kind_named, kind_of
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.engine.chance import seconds
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.parameters import Deletion, Selection, WriteOptions, merge_patch

NAMESPACE = "default"
TRIES = 60
AGAIN_SECONDS = 2.0
SOON_SECONDS = 0.5
TaintChange = Callable[[list[Document]], list[Document]]
DONE = frozenset({Failure.NOT_FOUND, Failure.ALREADY_EXISTS})
"""Refusals that mean that an earlier try has done it."""


_CAPABILITY = csi.VolumeCapability(
    mount=csi.VolumeCapability.MountVolume(),
    access_mode=csi.VolumeCapability.AccessMode(
        mode=csi.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
    ),
)


class Action(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename="camel",
    tag_field="do",
):
    at: float
    """Seconds after the cluster is up."""

    async def carry_out(self, user: "ClusterUser") -> None:
        raise NotImplementedError


class ClusterUser:
    """Carries actions out, whatever the server says meanwhile."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._client = cluster.client

    async def create(self, document: Document) -> None:
        await self.insist(lambda: self._client.create(kind_of(document), document))

    async def create_anew(self, documents: Sequence[Document]) -> None:
        """Delete what has these names, and create it again as soon as the names are free."""
        old: list[str] = []
        for document in documents:
            kind, name = document["kind"], document["metadata"]["name"]
            old.append(await self._uid(kind, name))
            await self.delete(kind, name)
        for document, uid in zip(documents, old, strict=True):
            await self._create_after(document, uid)

    async def _create_after(self, document: Document, uid: str) -> None:
        """After the object with that uid has gone; it may stay for longer than a user waits."""
        kind, name = document["kind"], document["metadata"]["name"]
        for _ in range(TRIES):
            await self.create(document)
            # Without one, the old object has gone after the new one was refused.
            if await self._uid(kind, name) not in ("", uid):
                return
            await self._cluster.user.clock.sleep(seconds(SOON_SECONDS))

    async def _uid(self, kind: str, name: str) -> str:
        """Empty: there is no such object."""
        found: list[str] = [""]
        key = key_in(kind, name, NAMESPACE)

        async def read() -> None:
            document = await self._client.find(kind_named(kind), key)
            found[0] = "" if document is None else document["metadata"]["uid"]

        await self.insist(read)
        return found[0]

    async def patch(self, kind: str, name: str, patch: Document) -> None:
        key = key_in(kind, name, NAMESPACE)
        options = WriteOptions()
        body = merge_patch(patch)
        await self.insist(lambda: self._client.patch(kind_named(kind), key, body, options))

    async def put_config_map(self, key: ObjectKey, data: Document) -> None:
        metadata = {"namespace": key.namespace, "name": key.name}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        await self.create(document)
        body, options = merge_patch({"data": data}), WriteOptions()
        await self.insist(lambda: self._client.patch(kind_of(document), key, body, options))

    async def delete(self, kind: str, name: str) -> None:
        key = key_in(kind, name, NAMESPACE)
        await self.insist(lambda: self._client.delete(kind_named(kind), key, Deletion()))

    async def delete_all(self, kind: str, labels: str) -> None:
        for name in await self.names(kind, Selection(namespace=NAMESPACE, labels=labels)):
            await self.delete(kind, name)

    def nodes_in(self, zone: str) -> list[str]:
        return [node.name for node in self._cluster.shape.nodes if node.zone == zone]

    async def forget_selected_nodes(self, labels: str) -> None:
        """Of claims that have no volume yet, unless another writer changes them meanwhile."""
        claims = kind_named("PersistentVolumeClaim")

        async def attempt() -> None:
            selection = Selection(namespace=NAMESPACE, labels=labels)
            for found in (await self._client.list(claims, selection)).items:
                metadata = found["metadata"]
                if found["spec"].get("volumeName") or SELECTED_NODE not in (
                    metadata.get("annotations") or {}
                ):
                    continue
                changed = {
                    "resourceVersion": metadata["resourceVersion"],
                    "annotations": {SELECTED_NODE: None},
                }
                key = ObjectKey(NAMESPACE, metadata["name"])
                body = merge_patch({"metadata": changed})
                await self._client.patch(claims, key, body, WriteOptions())

        await self.insist(attempt)

    async def selected_nodes(self, labels: str) -> list[str]:
        """Of claims that have no volume yet, by name."""
        found: set[str] = set()

        async def read() -> None:
            selection = Selection(namespace=NAMESPACE, labels=labels)
            claims = await self._client.list(kind_named("PersistentVolumeClaim"), selection)
            waiting = [each for each in claims.items if not each["spec"].get("volumeName")]
            found.update(filter(None, map(selected_node, waiting)))

        await self.insist(read)
        return sorted(found)

    def driver_of(self, class_name: str) -> str:
        classes = self._cluster.shape.classes
        return next(each.driver for each in classes if each.name == class_name)

    async def provision(self, driver: str, name: str, size: str, zone: str) -> csi.Volume | None:
        """Have a driver make a volume that some node of the zone reaches, without the cluster's
        knowledge. None: it will not."""
        request = csi.CreateVolumeRequest(
            name=name,
            capacity_range=csi.CapacityRange(required_bytes=parse_bytes(size)),
            volume_capabilities=[_CAPABILITY],
            accessibility_requirements=csi.TopologyRequirement(
                requisite=self._segments(driver, zone)
            ),
        )
        node = self._cluster.shape.nodes[0].name
        link = CsiLink(self._cluster.drivers[driver], node, self._cluster.user)
        for _ in range(TRIES):
            try:
                return (await CsiClient(link).call(methods.CREATE_VOLUME, request)).volume
            except DriverError:
                await self._cluster.user.clock.sleep(seconds(AGAIN_SECONDS))
        return None

    def _segments(self, driver: str, zone: str) -> list[csi.Topology]:
        shape = self._cluster.shape
        keys = next(each.keys for each in shape.drivers if each.name == driver)
        found: list[csi.Topology] = []
        for node in shape.nodes:
            told = {topology_key(driver, key): node.topology[key] for key in keys}
            if node.zone == zone and csi.Topology(segments=told) not in found:
                found.append(csi.Topology(segments=told))
        return found

    async def change_taints(self, node: str, change: TaintChange) -> None:
        """Of what the node has now: other writers change taints at the same time."""
        kind, key = kind_named("Node"), key_in("Node", node, NAMESPACE)

        async def attempt() -> None:
            found = await self._client.get(kind, key)
            taints = change(found["spec"].get("taints") or [])
            metadata = {"resourceVersion": found["metadata"]["resourceVersion"]}
            body = merge_patch({"metadata": metadata, "spec": {"taints": taints}})
            await self._client.patch(kind, key, body, WriteOptions())

        await self.insist(attempt)

    async def pods_on(self, node: str) -> list[str]:
        return await self.names("Pod", Selection(fields=f"spec.nodeName={node}"))

    async def names(self, kind: str, selection: Selection) -> list[str]:
        found: list[str] = []

        async def read() -> None:
            page = await self._client.list(kind_named(kind), selection)
            found[:] = [document["metadata"]["name"] for document in page.items]

        await self.insist(read)
        return found

    async def insist(self, attempt: Callable[[], Awaitable[Any]]) -> None:
        for _ in range(TRIES):
            try:
                await attempt()
            except KubeError as error:
                if error.failure in DONE:
                    return
                if not error.is_passing and error.failure is not Failure.CONFLICT:
                    raise
            else:
                return
            await self._cluster.user.clock.sleep(seconds(AGAIN_SECONDS))
