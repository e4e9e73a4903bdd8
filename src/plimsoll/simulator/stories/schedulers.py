"""A scheduler in a story's cluster, and the objects that stories about scheduling are made of."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.processes.scheduler.running import Scheduler
from plimsoll.processes.scheduler.settings import SchedulerSettings
from plimsoll.reconcile.running import LoopEnvironment
from plimsoll.runtime.clock import settle
from plimsoll.runtime.ids import seeded_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.simulator.engine.chance import seeded
from plimsoll.simulator.stories.cluster import StoryCluster, Through
from plimsoll.simulator.stories.expectations import expect, expect_no_restarts, samples
from plimsoll.simulator.stories.objects import pod, volume
from plimsoll.simulator.stories.story_process import StoryLife, StoryLink, StoryProcess
from plimsoll.wire.kube import KubeClient

SCHEDULER = "plimsoll"
HOSTNAME = "kubernetes.io/hostname"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"


class RunningScheduler(StoryLife):
    """One life of the scheduler process."""

    def __init__(
        self,
        cluster: StoryCluster,
        settings: SchedulerSettings | None = None,
        *,
        seed: int = 1,
        cut_after: int | None = None,
        through: Through = lambda transport: transport,
    ) -> None:
        self._process = StoryProcess("scheduler")
        inner = through(InProcessTransport(cluster.server))
        self._link = StoryLink(self._process, inner, cut_after=cut_after)
        self.metrics = Metrics()
        client = KubeClient(
            self._link, clock=cluster.clock, chance=seeded(seed), manager="plimsoll-scheduler"
        )
        settings = settings or SchedulerSettings()
        environment = LoopEnvironment(
            client=client,
            component=settings.scheduler_name,
            metrics=self.metrics,
            ids=seeded_ids(seed),
            chance=seeded(seed),
        )
        self.scheduler = Scheduler(settings, environment)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = self._process.spawn(self.scheduler.run())
        await settle()

    def check(self) -> None:
        """Raises if it met with a bug."""
        if self._task is not None and self._task.done():
            self._task.result()
        expect_no_restarts(self.metrics)

    def sample(self, start: str) -> float:
        """The value of the metric whose line begins like this."""
        return sum(samples(self.metrics, start))

    async def kill(self) -> None:
        """It ends without any farewell."""
        await self._process.bury()


@asynccontextmanager
async def a_scheduler(
    cluster: StoryCluster,
    settings: SchedulerSettings | None = None,
    *,
    seed: int = 1,
    cut_after: int | None = None,
    through: Through = lambda transport: transport,
) -> AsyncIterator[RunningScheduler]:
    running = RunningScheduler(cluster, settings, seed=seed, cut_after=cut_after, through=through)
    await running.start()
    try:
        yield running
        running.check()
    finally:
        await running.kill()


async def add_node(
    cluster: StoryCluster,
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    spec: Document | None = None,
    **room: str,
) -> None:
    """A node that is ready, with its hostname; `room` is what it has to offer."""
    metadata = {"name": name, "labels": {HOSTNAME: name} | dict(labels or {})}
    await cluster.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec or {}}
    )
    offered = {"cpu": "4", "memory": "8Gi", "pods": "110"} | room
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    status = {"capacity": offered, "allocatable": offered, "conditions": [ready]}
    await cluster.patch("Node", name, {"status": status}, subresource="status")


def ours(document: Document, **spec: Any) -> Document:
    """A pod for our scheduler; requests of its container as `requests`."""
    requests = spec.pop("requests", None)
    whole = document["spec"] | {"schedulerName": SCHEDULER} | spec
    if requests:
        container = whole["containers"][0] | {"resources": {"requests": requests}}
        whole["containers"] = [container]
    return document | {"spec": whole}


def a_pod(name: str = "web", *, claims: Iterable[str] = (), **spec: Any) -> Document:
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    return ours(pod(name, volumes=volumes), **spec)


def a_claim(name: str = "data", *, size: str = "1Gi", class_name: str = "local") -> Document:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": class_name,
        },
    }


def a_local_volume(node: str, name: str = "", *, size: str = "1Gi") -> Document:
    """A disk of one node."""
    expression = {"key": HOSTNAME, "operator": "In", "values": [node]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    spec = {
        "capacity": {"storage": size},
        "storageClassName": "local",
        "persistentVolumeReclaimPolicy": "Retain",
    }
    return volume(name or f"disk-{node}", affinity=affinity, spec=spec)


def a_delayed_class(
    name: str = "local", provisioner: str = NO_PROVISIONER, **fields: Any
) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    } | fields


async def node_of(cluster: StoryCluster, name: str) -> str:
    """Where the pod is; empty if nowhere."""
    found: str = (await cluster.get("Pod", name))["spec"].get("nodeName", "")
    return found


async def nodes_of(cluster: StoryCluster) -> dict[str, str]:
    pods = await cluster.all("Pod")
    return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in pods}


async def scheduled_condition(cluster: StoryCluster, name: str) -> tuple[str, str, str]:
    """Status, reason and message of PodScheduled."""
    conditions = (await cluster.get("Pod", name))["status"].get("conditions", [])
    found: Document = next((c for c in conditions if c["type"] == "PodScheduled"), {})
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


async def volume_of(cluster: StoryCluster, claim: str) -> str:
    """What the claim is bound to, in both directions; empty if nothing."""
    found = await cluster.get("PersistentVolumeClaim", claim)
    if found["status"].get("phase") != "Bound":
        return ""
    name: str = found["spec"]["volumeName"]
    behind = await cluster.get("PersistentVolume", name)
    is_back = behind["spec"]["claimRef"]["uid"] == found["metadata"]["uid"]
    expect(f"{name} is bound to claim {claim}", holds=is_back)
    return name
