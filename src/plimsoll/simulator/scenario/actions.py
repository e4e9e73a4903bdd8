"""What users do with the cluster, each at its time. A user tries again until it is done."""

from plimsoll.api.registry import Document
from plimsoll.decide.cluster.lost_nodes import OUT_OF_SERVICE
from plimsoll.simulator.scenario.copied_volumes import (
    CloneClaim,
    DropSnapshot,
    GrowClaim,
    RestoreSnapshot,
    SnapshotClaim,
)
from plimsoll.simulator.scenario.placement_rules import (
    CreateBudget,
    PlacedPods,
    create_priority_class,
    with_rules,
)
from plimsoll.simulator.scenario.static_volumes import (
    CreateLocalVolumes,
    CreateZonalVolumes,
    RecreateLocalVolumes,
)
from plimsoll.simulator.scenario.takeover_maps import SetTakeoverMap
from plimsoll.simulator.scenario.user import NAMESPACE, Action, ClusterUser


class CreateStatefulSet(PlacedPods, frozen=True, kw_only=True, tag="createStatefulSet"):
    replicas: int = 3
    class_name: str = "zonal"
    size: str = "1Gi"
    claims: int = 1
    """For each pod."""
    also: tuple[str, ...] = ()
    """Classes of further claims of each pod."""
    parallel: bool = True
    cpu: str = "100m"

    async def carry_out(self, user: ClusterUser) -> None:
        await create_priority_class(self, user)
        await user.create(stateful_set(self))


class ScaleStatefulSet(Action, frozen=True, kw_only=True, tag="scale"):
    name: str
    replicas: int

    async def carry_out(self, user: ClusterUser) -> None:
        await user.patch("StatefulSet", self.name, {"spec": {"replicas": self.replicas}})


class Roll(Action, frozen=True, kw_only=True, tag="roll"):
    """Change the template, so that every pod is replaced."""

    name: str

    async def carry_out(self, user: ClusterUser) -> None:
        changed = {"metadata": {"annotations": {"simulation/rolled": str(self.at)}}}
        await user.patch("StatefulSet", self.name, {"spec": {"template": changed}})


class DeleteStatefulSet(Action, frozen=True, kw_only=True, tag="deleteStatefulSet"):
    name: str
    with_claims: bool = True

    async def carry_out(self, user: ClusterUser) -> None:
        await user.delete("StatefulSet", self.name)
        if self.with_claims:
            await user.delete_all("PersistentVolumeClaim", f"app={self.name}")


class DeletePod(Action, frozen=True, kw_only=True, tag="deletePod"):
    name: str

    async def carry_out(self, user: ClusterUser) -> None:
        await user.delete("Pod", self.name)


class CreatePods(PlacedPods, frozen=True, kw_only=True, tag="createPods"):
    """A burst: so many pods at once, each with a claim of its own."""

    pods: int = 10
    class_name: str = "zonal"
    size: str = "1Gi"
    cpu: str = "100m"
    finish: bool = False
    """Whether the pods end by themselves, as those of a job."""

    async def carry_out(self, user: ClusterUser) -> None:
        await create_priority_class(self, user)
        for document in pods(self):
            await user.create(document)


class RecreatePods(CreatePods, frozen=True, kw_only=True, tag="recreatePods"):
    """Delete them, and create others under the same names as soon as these are free."""

    with_claims: bool = True
    """Else the new pods get the claims of the old ones."""

    async def carry_out(self, user: ClusterUser) -> None:
        kinds = ("Pod", "PersistentVolumeClaim") if self.with_claims else ("Pod",)
        await user.create_anew([each for each in pods(self) if each["kind"] in kinds])


class DeletePods(Action, frozen=True, kw_only=True, tag="deletePods"):
    """With their claims."""

    name: str

    async def carry_out(self, user: ClusterUser) -> None:
        await user.delete_all("Pod", f"app={self.name}")
        await user.delete_all("PersistentVolumeClaim", f"app={self.name}")


class CreateJob(Action, frozen=True, kw_only=True, tag="createJob"):
    """Pods that end by themselves, each with an ephemeral volume."""

    name: str
    pods: int = 3
    class_name: str = "zonal"
    size: str = "1Gi"

    async def carry_out(self, user: ClusterUser) -> None:
        await user.create(job(self))


class CreateClaim(Action, frozen=True, kw_only=True, tag="createClaim"):
    name: str
    class_name: str
    size: str = "1Gi"

    async def carry_out(self, user: ClusterUser) -> None:
        await user.create(claim(self.name, self.class_name, self.size))


class DeleteClaim(Action, frozen=True, kw_only=True, tag="deleteClaim"):
    name: str

    async def carry_out(self, user: ClusterUser) -> None:
        await user.delete("PersistentVolumeClaim", self.name)


class ForgetSelectedNode(Action, frozen=True, kw_only=True, tag="forgetSelectedNode"):
    """Take the selected node off the claims of these pods that still wait for their volumes.

    As an administrator does it whose node will not come back: a provisioner may be at work there.
    """

    name: str

    async def carry_out(self, user: ClusterUser) -> None:
        await user.forget_selected_nodes(f"app={self.name}")


class DeleteSelectedNodes(Action, frozen=True, kw_only=True, tag="deleteSelectedNodes"):
    """Delete the Node objects of the nodes that are selected for claims of these pods.

    As a cloud does it with machines that are gone. A node comes back when its process starts again.
    """

    name: str

    async def carry_out(self, user: ClusterUser) -> None:
        for node in await user.selected_nodes(f"app={self.name}"):
            await user.delete("Node", node)


class Drain(Action, frozen=True, kw_only=True, tag="drain"):
    """Cordon a node and delete its pods."""

    node: str

    async def carry_out(self, user: ClusterUser) -> None:
        await user.patch("Node", self.node, {"spec": {"unschedulable": True}})
        for pod in await user.pods_on(self.node):
            await user.delete("Pod", pod)


class Uncordon(Action, frozen=True, kw_only=True, tag="uncordon"):
    node: str

    async def carry_out(self, user: ClusterUser) -> None:
        await user.patch("Node", self.node, {"spec": {"unschedulable": None}})


class TakeOutOfService(Action, frozen=True, kw_only=True, tag="takeOutOfService"):
    """Vouch by a taint that the nodes of a zone are off: their pods end, their volumes detach."""

    zone: str

    async def carry_out(self, user: ClusterUser) -> None:
        taint = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}
        for node in user.nodes_in(self.zone):
            await user.change_taints(node, lambda taints: [*_without(taints), taint])


class PutIntoService(Action, frozen=True, kw_only=True, tag="putIntoService"):
    """Take that back."""

    zone: str

    async def carry_out(self, user: ClusterUser) -> None:
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
    | RecreatePods
    | DeletePods
    | CreateJob
    | CreateClaim
    | DeleteClaim
    | ForgetSelectedNode
    | DeleteSelectedNodes
    | CreateLocalVolumes
    | RecreateLocalVolumes
    | CreateZonalVolumes
    | SnapshotClaim
    | DropSnapshot
    | RestoreSnapshot
    | CloneClaim
    | GrowClaim
    | Drain
    | Uncordon
    | TakeOutOfService
    | PutIntoService
    | SetTakeoverMap
    | CreateBudget
)


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
    classes = [wanted.class_name] * wanted.claims + [*wanted.also]
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
                "spec": with_rules(
                    {
                        "containers": [_container(wanted.cpu)],
                        "terminationGracePeriodSeconds": 5,
                    },
                    wanted,
                ),
            },
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": f"data{number}", "labels": labels},
                    "spec": claim_spec(class_name, wanted.size),
                }
                for number, class_name in enumerate(classes)
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
                "spec": with_rules(
                    {
                        "containers": [_container(wanted.cpu)],
                        "restartPolicy": "Never" if wanted.finish else "Always",
                        "terminationGracePeriodSeconds": 5,
                        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
                    },
                    wanted,
                ),
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
