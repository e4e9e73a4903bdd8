"""What users do with the cluster, each at its time. A user tries again until it is done."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.simulator.chance import seconds
from plimsoll.simulator.cluster import SimulatedCluster
from plimsoll.simulator.objects import key_in, kind_named, kind_of
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.parameters import Deletion, Selection, WriteOptions, merge_patch

NAMESPACE = "default"
TRIES = 60
AGAIN_SECONDS = 2.0
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


class CreateStatefulSet(Action, frozen=True, kw_only=True, tag="createStatefulSet"):
    name: str
    replicas: int = 3
    class_name: str = "zonal"
    size: str = "1Gi"
    claims: int = 1
    """For each pod."""
    parallel: bool = True
    cpu: str = "100m"


class Scale(Action, frozen=True, kw_only=True, tag="scale"):
    name: str
    replicas: int


class Roll(Action, frozen=True, kw_only=True, tag="roll"):
    """Change the template, so that every pod is replaced."""

    name: str


class DeleteStatefulSet(Action, frozen=True, kw_only=True, tag="deleteStatefulSet"):
    name: str
    with_claims: bool = True


class DeletePod(Action, frozen=True, kw_only=True, tag="deletePod"):
    name: str


class CreatePods(Action, frozen=True, kw_only=True, tag="createPods"):
    """A burst: so many pods at once, each with a claim of its own."""

    name: str
    pods: int = 10
    class_name: str = "zonal"
    size: str = "1Gi"
    cpu: str = "100m"
    finish: bool = False
    """Whether the pods end by themselves, as those of a job."""


class DeletePods(Action, frozen=True, kw_only=True, tag="deletePods"):
    """With their claims."""

    name: str


class CreateJob(Action, frozen=True, kw_only=True, tag="createJob"):
    """Pods that end by themselves, each with an ephemeral volume."""

    name: str
    pods: int = 3
    class_name: str = "zonal"
    size: str = "1Gi"


class CreateClaim(Action, frozen=True, kw_only=True, tag="createClaim"):
    name: str
    class_name: str
    size: str = "1Gi"


class DeleteClaim(Action, frozen=True, kw_only=True, tag="deleteClaim"):
    name: str


class Drain(Action, frozen=True, kw_only=True, tag="drain"):
    """Cordon a node and delete its pods."""

    node: str


class Uncordon(Action, frozen=True, kw_only=True, tag="uncordon"):
    node: str


AnyAction = (
    CreateStatefulSet
    | Scale
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
)


class User:
    """Carries actions out, whatever the server says meanwhile."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._client = cluster.client

    async def carry_out(self, action: AnyAction) -> None:
        match action:
            case CreateStatefulSet():
                await self._create(stateful_set(action))
            case Scale(name=name, replicas=replicas):
                await self._patch("StatefulSet", name, {"spec": {"replicas": replicas}})
            case Roll(name=name, at=at):
                changed = {"metadata": {"annotations": {"simulation/rolled": str(at)}}}
                await self._patch("StatefulSet", name, {"spec": {"template": changed}})
            case DeleteStatefulSet(name=name, with_claims=with_claims):
                await self._delete("StatefulSet", name)
                if with_claims:
                    await self._delete_all("PersistentVolumeClaim", f"app={name}")
            case DeletePod(name=name):
                await self._delete("Pod", name)
            case CreatePods():
                for document in pods(action):
                    await self._create(document)
            case DeletePods(name=name):
                await self._delete_all("Pod", f"app={name}")
                await self._delete_all("PersistentVolumeClaim", f"app={name}")
            case CreateJob():
                await self._create(job(action))
            case CreateClaim():
                await self._create(claim(action.name, action.class_name, action.size))
            case DeleteClaim(name=name):
                await self._delete("PersistentVolumeClaim", name)
            case Drain(node=node):
                await self._patch("Node", node, {"spec": {"unschedulable": True}})
                for pod in await self._pods_on(node):
                    await self._delete("Pod", pod)
            case Uncordon(node=node):
                await self._patch("Node", node, {"spec": {"unschedulable": None}})

    async def _create(self, document: Document) -> None:
        await self._insist(lambda: self._client.create(kind_of(document), document))

    async def _patch(self, kind: str, name: str, patch: Document) -> None:
        key = key_in(kind, name, NAMESPACE)
        options = WriteOptions()
        body = merge_patch(patch)
        await self._insist(lambda: self._client.patch(kind_named(kind), key, body, options))

    async def _delete(self, kind: str, name: str) -> None:
        key = key_in(kind, name, NAMESPACE)
        await self._insist(lambda: self._client.delete(kind_named(kind), key, Deletion()))

    async def _delete_all(self, kind: str, labels: str) -> None:
        for name in await self._names(kind, Selection(namespace=NAMESPACE, labels=labels)):
            await self._delete(kind, name)

    async def _pods_on(self, node: str) -> list[str]:
        return await self._names("Pod", Selection(fields=f"spec.nodeName={node}"))

    async def _names(self, kind: str, selection: Selection) -> list[str]:
        found: list[str] = []

        async def read() -> None:
            page = await self._client.list(kind_named(kind), selection)
            found[:] = [document["metadata"]["name"] for document in page.items]

        await self._insist(read)
        return found

    async def _insist(self, attempt: Callable[[], Awaitable[Any]]) -> None:
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
