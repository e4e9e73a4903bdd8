"""The objects of a workload on one API server, under names that no other workload uses."""

from collections.abc import Callable
from datetime import timedelta

from conformance.client_checks import CLOCK
from conformance.cluster_stories import CLAIMS, NODES, PODS, VOLUMES, Place, kind
from conformance.workloads.generate import HOSTNAME, ZONE, AddPod, Workload, WorkloadNode
from plimsoll.api.registry import Document
from plimsoll.wire.kind import Kind

SERVICES, NAMESPACES = kind("Service"), kind("Namespace")
STORY = "plimsoll.dev/workload"
BETWEEN_LOOKS = timedelta(milliseconds=25)
TIME_LIMIT_SECONDS = 60


class WorkloadCluster:
    """One side: the objects of a workload under names of its own."""

    def __init__(self, at: Place, scheduler: str, workload: Workload) -> None:
        self.at = at
        self._scheduler = scheduler
        self._workload = workload
        self._story = f"seed-{workload.seed}"

    def own(self, name: str) -> str:
        """The same name on both sides: scores may depend on the order of names."""
        return f"{name}.{self._story}"

    async def set_up(self) -> list[tuple[str, Document]]:
        """Everything but the pods; the objects by kind, as they are stored."""
        made = [("Namespace", await self._stored(NAMESPACES, self.at.namespace))]
        made += [("Node", await self._add_node(node)) for node in self._workload.nodes]
        if self._workload.service_app is not None:
            spec = {"selector": {"app": self._workload.service_app}, "ports": [{"port": 80}]}
            await self.at.create(SERVICES, "service", spec=spec)
            made.append(("Service", await self._stored(SERVICES, "service")))
        for step in self._workload.steps:
            if isinstance(step, AddPod) and step.volume_zone is not None:
                made += await self._add_volume(step.name, step.volume_zone)
        return made

    async def _add_node(self, node: WorkloadNode) -> Document:
        name = self.own(node.name)
        labels = {
            key: self.own(value) if key == ZONE else value for key, value in node.labels.items()
        }
        own = {HOSTNAME: name, STORY: self._story}
        metadata = {"name": name, "labels": labels | own}
        await self.at.create(NODES, name, metadata=metadata, spec={"taints": node.taints})
        room = node.allocatable
        ready = {"type": "Ready", "status": "True"}
        status = {"capacity": room, "allocatable": room, "conditions": [ready]}
        await self.at.patch_status(NODES, name, status)
        return await self._stored(NODES, name)

    async def _add_volume(self, pod: str, zone: str) -> list[tuple[str, Document]]:
        """A claim and its volume, bound to each other; no controller is needed."""
        name, size = self.own(f"{pod}-{self.at.namespace}"), {"storage": "1Gi"}
        expression = {"key": ZONE, "operator": "In", "values": [self.own(zone)]}
        spec = {
            "capacity": size,
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "by-hand",
            "csi": {"driver": "disk.example.com", "volumeHandle": name},
            "nodeAffinity": {
                "required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
            },
            "claimRef": {"namespace": self.at.namespace, "name": pod},
        }
        await self.at.create(VOLUMES, name, spec=spec)
        wanted = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": size},
            "storageClassName": "by-hand",
            "volumeName": name,
        }
        done = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        await self.at.create(CLAIMS, pod, spec=wanted, metadata=done)
        await self.at.patch_status(VOLUMES, name, {"phase": "Bound"})
        await self.at.patch_status(CLAIMS, pod, {"phase": "Bound"})
        return [
            ("PersistentVolume", await self._stored(VOLUMES, name)),
            ("PersistentVolumeClaim", await self._stored(CLAIMS, pod)),
        ]

    async def add_pod(self, step: AddPod, node: str = "") -> Document:
        """With a node it is there at once, and no scheduler is asked."""
        spec = dict(step.spec)
        spec["nodeSelector"] = {STORY: self._story} | spec.get("nodeSelector", {})
        spec["schedulerName"] = self._scheduler
        if step.volume_zone is not None:
            source = {"claimName": step.name}
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": source}]
        if node:
            spec["nodeName"] = node
        spec = _with_own_zones(spec, self.own)
        return await self.at.create(PODS, step.name, spec=spec, metadata={"labels": step.labels})

    async def decision(self, name: str) -> str:
        """Wait until the pod has a node, or was refused (then it is empty)."""
        found: list[str] = []

        async def is_decided() -> bool:
            pod = await self._stored(PODS, name)
            if node := pod["spec"].get("nodeName"):
                found.append(node)
            elif _is_refused(pod):
                found.append("")
            return bool(found)

        deadline = CLOCK.monotonic() + TIME_LIMIT_SECONDS
        while not await is_decided():
            assert CLOCK.monotonic() < deadline, f"{self._scheduler} does not decide on {name}"
            await CLOCK.sleep(BETWEEN_LOOKS)
        return found[0]

    async def remove_pod(self, name: str) -> None:
        await self.at.delete(PODS, name, grace=0)

    async def leave(self) -> None:
        for name in await self.at.names(PODS):
            await self.remove_pod(name)
        for node in self._workload.nodes:
            await self.at.delete(NODES, self.own(node.name))

    async def _stored(self, kind_: Kind[Document], name: str) -> Document:
        found = await self.at.find(kind_, name)
        assert found is not None, f"{name} is gone"
        return found


def _with_own_zones(spec: Document, own: Callable[[str], str]) -> Document:
    """Requirements on zones name those of the workload."""
    match spec:
        case {"key": key, "values": values, **rest} if key == ZONE:
            return {**rest, "key": key, "values": [own(value) for value in values]}
        case dict():
            return {key: _within(value, own) for key, value in spec.items()}


def _within(value: object, own: Callable[[str], str]) -> object:
    if isinstance(value, dict):
        return _with_own_zones(value, own)
    return [_within(each, own) for each in value] if isinstance(value, list) else value


def _is_refused(pod: Document) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions)
