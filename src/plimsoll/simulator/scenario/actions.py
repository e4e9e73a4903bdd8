"""What users do with the cluster, each at its time. A user tries again until it is done."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.decide.cluster.lost_nodes import OUT_OF_SERVICE
from plimsoll.simulator.cluster.objects import key_in, kind_named, kind_of
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.engine.chance import seconds
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.parameters import Deletion, Selection, WriteOptions, merge_patch

NAMESPACE = "default"
TRIES = 60
AGAIN_SECONDS = 2.0
TaintChange = Callable[[list[Document]], list[Document]]
DONE = frozenset({Failure.NOT_FOUND, Failure.ALREADY_EXISTS})
"""Refusals that mean that an earlier try has done it."""


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


class CreateStatefulSet(Action, frozen=True, kw_only=True, tag="createStatefulSet"):
    name: str
    replicas: int = 3
    class_name: str = "zonal"
    size: str = "1Gi"
    claims: int = 1
    """For each pod."""
    parallel: bool = True
    cpu: str = "100m"

    async def carry_out(self, user: "ClusterUser") -> None:
        await user.create(stateful_set(self))


class ScaleStatefulSet(Action, frozen=True, kw_only=True, tag="scale"):
    name: str
    replicas: int

    async def carry_out(self, user: "ClusterUser") -> None:
        await user.patch("StatefulSet", self.name, {"spec": {"replicas": self.replicas}})


class Roll(Action, frozen=True, kw_only=True, tag="roll"):
    """Change the template, so that every pod is replaced."""

    name: str

    async def carry_out(self, user: "ClusterUser") -> None:
        changed = {"metadata": {"annotations": {"simulation/rolled": str(self.at)}}}
        await user.patch("StatefulSet", self.name, {"spec": {"template": changed}})


class DeleteStatefulSet(Action, frozen=True, kw_only=True, tag="deleteStatefulSet"):
    name: str
    with_claims: bool = True

    async def carry_out(self, user: "ClusterUser") -> None:
        await user.delete("StatefulSet", self.name)
        if self.with_claims:
            await user.delete_all("PersistentVolumeClaim", f"app={self.name}")


class DeletePod(Action, frozen=True, kw_only=True, tag="deletePod"):
    name: str

    async def carry_out(self, user: "ClusterUser") -> None:
        await user.delete("Pod", self.name)


class CreatePods(Action, frozen=True, kw_only=True, tag="createPods"):
    """A burst: so many pods at once, each with a claim of its own."""

    name: str
    pods: int = 10
    class_name: str = "zonal"
    size: str = "1Gi"
    cpu: str = "100m"
    finish: bool = False
    """Whether the pods end by themselves, as those of a job."""

    async def carry_out(self, user: "ClusterUser") -> None:
        for document in pods(self):
            await user.create(document)


class DeletePods(Action, frozen=True, kw_only=True, tag="deletePods"):
    """With their claims."""

    name: str

    async def carry_out(self, user: "ClusterUser") -> None:
        await user.delete_all("Pod", f"app={self.name}")
        await user.delete_all("PersistentVolumeClaim", f"app={self.name}")


class CreateJob(Action, frozen=True, kw_only=True, tag="createJob"):
    """Pods that end by themselves, each with an ephemeral volume."""

    name: str
    pods: int = 3
    class_name: str = "zonal"
    size: str = "1Gi"

    async def carry_out(self, user: "ClusterUser") -> None:
        await user.create(job(self))


class CreateClaim(Action, frozen=True, kw_only=True, tag="createClaim"):
    name: str
    class_name: str
    size: str = "1Gi"

    async def carry_out(self, user: "ClusterUser") -> None:
        await user.create(claim(self.name, self.class_name, self.size))


class DeleteClaim(Action, frozen=True, kw_only=True, tag="deleteClaim"):
    name: str

    async def carry_out(self, user: "ClusterUser") -> None:
        await user.delete("PersistentVolumeClaim", self.name)


class Drain(Action, frozen=True, kw_only=True, tag="drain"):
    """Cordon a node and delete its pods."""

    node: str

    async def carry_out(self, user: "ClusterUser") -> None:
        await user.patch("Node", self.node, {"spec": {"unschedulable": True}})
        for pod in await user.pods_on(self.node):
            await user.delete("Pod", pod)


class Uncordon(Action, frozen=True, kw_only=True, tag="uncordon"):
    node: str

    async def carry_out(self, user: "ClusterUser") -> None:
        await user.patch("Node", self.node, {"spec": {"unschedulable": None}})


class TakeOutOfService(Action, frozen=True, kw_only=True, tag="takeOutOfService"):
    """Vouch by a taint that the nodes of a zone are off: their pods end, their volumes detach."""

    zone: str

    async def carry_out(self, user: "ClusterUser") -> None:
        taint = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}
        for node in user.nodes_in(self.zone):
            await user.change_taints(node, lambda taints: [*_without(taints), taint])


class PutIntoService(Action, frozen=True, kw_only=True, tag="putIntoService"):
    """Take that back."""

    zone: str

    async def carry_out(self, user: "ClusterUser") -> None:
        for node in user.nodes_in(self.zone):
            await user.change_taints(node, _without)


def _without(taints: list[Document]) -> list[Document]:
    return [taint for taint in taints if taint["key"] != OUT_OF_SERVICE]


AnyAction = (
    CreateStatefulSet
    | ScaleStatefulSet
    | Roll
    | DeleteStatefulSet
    | DeletePod
    | CreatePods
    | DeletePods
    | CreateJob
    | CreateClaim
    | DeleteClaim
    | Drain
    | Uncordon
    | TakeOutOfService
    | PutIntoService
)


class ClusterUser:
    """Carries actions out, whatever the server says meanwhile."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._client = cluster.client

    async def create(self, document: Document) -> None:
        await self.insist(lambda: self._client.create(kind_of(document), document))

    async def patch(self, kind: str, name: str, patch: Document) -> None:
        key = key_in(kind, name, NAMESPACE)
        options = WriteOptions()
        body = merge_patch(patch)
        await self.insist(lambda: self._client.patch(kind_named(kind), key, body, options))

    async def delete(self, kind: str, name: str) -> None:
        key = key_in(kind, name, NAMESPACE)
        await self.insist(lambda: self._client.delete(kind_named(kind), key, Deletion()))

    async def delete_all(self, kind: str, labels: str) -> None:
        for name in await self.names(kind, Selection(namespace=NAMESPACE, labels=labels)):
            await self.delete(kind, name)

    def nodes_in(self, zone: str) -> list[str]:
        return [node.name for node in self._cluster.shape.nodes if node.zone == zone]

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


def claim_spec(class_name: str, size: str) -> Document:
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": class_name,
        "resources": {"requests": {"storage": size}},
    }


def claim(name: str, class_name: str, size: str, app: str = "") -> Document:
    metadata: Document = {"name": name, "namespace": NAMESPACE}
    if app:
        metadata["labels"] = {"app": app}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": claim_spec(class_name, size),
    }


def _container(cpu: str) -> Document:
    return {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}


def stateful_set(wanted: CreateStatefulSet) -> Document:
    labels = {"app": wanted.name}
    names = [f"data{number}" for number in range(wanted.claims)]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": wanted.name, "namespace": NAMESPACE},
        "spec": {
            "replicas": wanted.replicas,
            "serviceName": wanted.name,
            "podManagementPolicy": "Parallel" if wanted.parallel else "OrderedReady",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [_container(wanted.cpu)],
                    "terminationGracePeriodSeconds": 5,
                },
            },
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": name, "labels": labels},
                    "spec": claim_spec(wanted.class_name, wanted.size),
                }
                for name in names
            ],
        },
    }


def pods(wanted: CreatePods) -> list[Document]:
    made: list[Document] = []
    for number in range(wanted.pods):
        name = f"{wanted.name}-{number}"
        made.append(claim(name, wanted.class_name, wanted.size, wanted.name))
        made.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": NAMESPACE,
                    "labels": {"app": wanted.name},
                },
                "spec": {
                    "containers": [_container(wanted.cpu)],
                    "restartPolicy": "Never" if wanted.finish else "Always",
                    "terminationGracePeriodSeconds": 5,
                    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
                },
            }
        )
    return made


def job(wanted: CreateJob) -> Document:
    ephemeral = {"volumeClaimTemplate": {"spec": claim_spec(wanted.class_name, wanted.size)}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": wanted.name, "namespace": NAMESPACE},
        "spec": {
            "completions": wanted.pods,
            "parallelism": wanted.pods,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [_container("100m")],
                    "volumes": [{"name": "scratch", "ephemeral": ephemeral}],
                }
            },
        },
    }
