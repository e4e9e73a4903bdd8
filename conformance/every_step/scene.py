"""One run in the cluster: the objects of a user, and what the server and the drivers have."""

from dataclasses import dataclass

from conformance.every_step import kubelet
from conformance.every_step.cluster import (
    DRIVERS,
    NODES,
    RECORDS,
    SIZE,
    SteppedCluster,
    provisioner_name,
    zone_of,
)
from conformance.every_step.trap import SeenStep
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document, resources_by_kind
from plimsoll.decide.provisioning.intents import read_intent
from plimsoll.decide.records import RECORD
from plimsoll.decide.rollback.records import RollbackState, read_rollback
from plimsoll.wire.kind import Kind, documents

NAMESPACE = "default"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
CONSENT = {"plimsoll.dev/rollback": "unused-volumes"}


def kind(name: str, group: str = "") -> Kind[Document]:
    return documents(resources_by_kind()[group, "v1", name])


PODS, CLAIMS, VOLUMES = kind("Pod"), kind("PersistentVolumeClaim"), kind("PersistentVolume")
LEASES = kind("Lease", "coordination.k8s.io")


@dataclass(slots=True)
class KilledScene:
    cluster: SteppedCluster
    number: int
    """Of the run: names are used once."""
    used: str = ""
    """The id of a volume of the first driver that a pod has written to."""
    used_at: float = 0.0

    @property
    def pod(self) -> str:
        return f"web-{self.number}"

    @property
    def claims(self) -> tuple[str, str]:
        """Of one driver each."""
        return f"first-{self.number}", f"second-{self.number}"

    @property
    def killed_at(self) -> SeenStep | None:
        return self.cluster.trap.sprung

    # What a user does

    async def add_claim(self, number: int, class_: str, node: str = "") -> None:
        metadata: Document = {"name": self.claims[number], "namespace": NAMESPACE}
        if node:
            metadata["annotations"] = {SELECTED_NODE: node}
        spec = {
            "storageClassName": class_,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": SIZE}},
        }
        await self._create("PersistentVolumeClaim", metadata, spec)

    async def add_pod(self, name: str = "", *claims: str, **fields: object) -> None:
        volumes = [
            {"name": f"v{place}", "persistentVolumeClaim": {"claimName": claim}}
            for place, claim in enumerate(claims or self.claims)
        ]
        spec = {"containers": [{"name": "main", "image": "none"}], "volumes": volumes, **fields}
        await self._create("Pod", {"name": name or self.pod, "namespace": NAMESPACE}, spec)

    async def _create(self, kind_: str, metadata: Document, spec: Document) -> None:
        document = {"apiVersion": "v1", "kind": kind_, "metadata": metadata, "spec": spec}
        await self.cluster.client.create(document)

    # What is there

    async def find(self, kind_: Kind[Document], name: str) -> Document | None:
        namespace = NAMESPACE if kind_.resource.namespaced else ""
        return await self.cluster.client.find(kind_, ObjectKey(namespace, name))

    async def node(self) -> str:
        found = await self.find(PODS, self.pod) or {}
        return str(found.get("spec", {}).get("nodeName", ""))

    async def volumes(self) -> list[Document]:
        return list(await self.cluster.client.list(VOLUMES))

    async def volume_of(self, claim: str) -> Document | None:
        """Of a claim that is bound."""
        found = await self.find(CLAIMS, claim)
        if found is None or found.get("status", {}).get("phase") != "Bound":
            return None
        return await self.find(VOLUMES, found["spec"]["volumeName"])

    async def is_first_bound(self) -> bool:
        return await self.volume_of(self.claims[0]) is not None

    async def is_refused(self) -> bool:
        """Whether the scheduler has tried the pod."""
        found = await self.find(PODS, self.pod) or {}
        conditions = found.get("status", {}).get("conditions", [])
        return any(each["type"] == "PodScheduled" for each in conditions)

    async def records(self) -> list[str]:
        """Groups, rollbacks, and intents that are not settled."""
        leases = await self.cluster.client.list(LEASES, RECORDS)
        return [lease["metadata"]["name"] for lease in leases if _is_open(lease)]

    async def all_records(self) -> list[str]:
        leases = await self.cluster.client.list(LEASES, RECORDS)
        return [lease["metadata"]["name"] for lease in leases if _kind_of(lease)]

    async def rollback_states(self) -> list[RollbackState]:
        leases = await self.cluster.client.list(LEASES, RECORDS)
        return [record.state for lease in leases if (record := read_rollback(lease)) is not None]

    async def unrecorded(self) -> list[str]:
        """Where the drivers' own lists and the volumes of the API server differ."""
        problems = []
        volumes = await self.volumes()
        for driver in DRIVERS:
            made = await kubelet.volumes_of(self.cluster, driver)
            recorded = sorted(
                volume["spec"]["csi"]["volumeHandle"]
                for volume in volumes
                if volume["spec"]["csi"]["driver"] == provisioner_name(driver)
            )
            problems += [f"leaked: {each} of {driver}" for each in made if each not in recorded]
            problems += [f"lost: {each} of {driver}" for each in recorded if each not in made]
        claimed = [str(volume["spec"].get("claimRef", {}).get("uid")) for volume in volumes]
        problems += [f"made twice: for claim {uid}" for uid in claimed if claimed.count(uid) > 1]
        return problems + [f"made twice: {each}" for each in self.cluster.made.made_twice()]


def _kind_of(lease: Document) -> str:
    kind_ = (lease["metadata"].get("labels") or {}).get(RECORD, "")
    return kind_ if kind_ in ("group", "intent", "rollback") else ""


def _is_open(lease: Document) -> bool:
    intent = read_intent(lease)
    return bool(_kind_of(lease)) and (intent is None or intent.state.is_open)


def handle_of(volume: Document) -> str:
    return str(volume["spec"]["csi"]["volumeHandle"])


def zone_of_volume(volume: Document) -> str:
    [term] = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    [expression] = term["matchExpressions"]
    return str(expression["values"][0])


async def add_cluster_objects(cluster: SteppedCluster) -> None:
    """Nodes, drivers and classes; the first node has more room for pods, and is preferred."""
    for driver in DRIVERS:
        name = provisioner_name(driver)
        spec = {"attachRequired": False, "storageCapacity": False}
        await _add(cluster, "CSIDriver", name, spec=spec)
        for kind_ in ("roomy", "narrow", "slow"):
            await _add(
                cluster,
                "StorageClass",
                f"{driver}-{kind_}",
                {"annotations": CONSENT},
                provisioner=name,
                volumeBindingMode="WaitForFirstConsumer",
                parameters={"kind": kind_},
            )
    for node, cpu in zip(NODES, ("32", "4"), strict=True):
        await _add_node(cluster, node, cpu)


async def _add_node(cluster: SteppedCluster, node: str, cpu: str) -> None:
    keys = {driver: f"topology.{provisioner_name(driver)}/zone" for driver in DRIVERS}
    labels = {key: zone_of(node) for key in keys.values()} | {"kubernetes.io/hostname": node}
    room = {"cpu": cpu, "memory": f"{cpu}Gi", "pods": "110"}
    status = {
        "capacity": room,
        "allocatable": room,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    document = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": labels}}
    await cluster.client.create(document | {"status": status})
    entries = [
        {"name": provisioner_name(driver), "nodeID": node, "topologyKeys": [key]}
        for driver, key in keys.items()
    ]
    await _add(cluster, "CSINode", node, spec={"drivers": entries})


async def _add(
    cluster: SteppedCluster,
    kind_: str,
    name: str,
    metadata: Document | None = None,
    /,
    **fields: object,
) -> None:
    document = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": kind_,
        "metadata": {"name": name, **(metadata or {})},
    }
    await cluster.client.create(document | fields)
