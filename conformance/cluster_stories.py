"""What users see of the controllers of a cluster, with ours and with the real programs.

Each `story_…` works in a namespace of its own and raises AssertionError when the cluster does not
do its part. There are no kubelets: the story plays them.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path

from conformance.client_checks import CLOCK, connected
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document, resources_by_kind
from plimsoll.runtime.ids import system_ids
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import Kind, documents
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Deletion, Selection, WriteOptions, merge_patch

TIME_LIMIT = timedelta(seconds=60)
"""More than the time after which controllers look at everything again."""
CONTAINERS = [{"name": "main", "image": "pause"}]
CLAIM_SPEC: Document = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
}


def kind(name: str, group: str = "") -> Kind[Document]:
    return documents(resources_by_kind()[group, "v1", name])


CLAIMS, VOLUMES, PODS = kind("PersistentVolumeClaim"), kind("PersistentVolume"), kind("Pod")
CONFIG_MAPS, EVENTS = kind("ConfigMap"), kind("Event")
CLASSES, STATEFUL_SETS = kind("StorageClass", "storage.k8s.io"), kind("StatefulSet", "apps")
NODES, REPLICA_SETS = kind("Node"), kind("ReplicaSet", "apps")
JOBS = kind("Job", "batch")
BUDGETS, CRON_JOBS = kind("PodDisruptionBudget", "policy"), kind("CronJob", "batch")


class Place:
    """A cluster as one story sees it: its namespace, and names that no other story uses."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    def own(self, name: str) -> str:
        """For objects without a namespace."""
        return f"{name}-{self.namespace}"

    async def create(self, kind_: Kind[Document], name: str, **fields: object) -> Document:
        # Kinds that are additions to Kubernetes have to be named in the object itself.
        called = {"apiVersion": kind_.resource.api_version, "kind": kind_.resource.kind}
        metadata: Document = {"name": name}
        if kind_.resource.namespaced:
            metadata["namespace"] = self.namespace
        extra = fields.pop("metadata", None)
        own = {"metadata": metadata | (extra if isinstance(extra, dict) else {})}
        document = called | own | fields
        return await self.client.create(kind_, document)

    async def find(self, kind_: Kind[Document], name: str) -> Document | None:
        return await self.client.find(kind_, self._key(kind_, name))

    async def delete(self, kind_: Kind[Document], name: str, *, grace: int | None = None) -> None:
        try:
            deletion = Deletion(grace_period_seconds=grace, propagation="Background")
            await self.client.delete(kind_, self._key(kind_, name), deletion)
        except KubeError as error:
            if error.failure is not Failure.NOT_FOUND:
                raise

    async def patch_status(self, kind_: Kind[Document], name: str, status: Document) -> None:
        options = WriteOptions(subresource="status")
        key = self._key(kind_, name)
        await self.client.patch(kind_, key, merge_patch({"status": status}), options)

    async def names(self, kind_: Kind[Document]) -> list[str]:
        page = await self.client.list(kind_, Selection(namespace=self.namespace))
        return sorted(item["metadata"]["name"] for item in page.items)

    async def seen(self, what: str, condition: Callable[[], Awaitable[bool]]) -> None:
        deadline = CLOCK.monotonic() + TIME_LIMIT.total_seconds()
        while not await condition():
            assert CLOCK.monotonic() < deadline, f"not seen in time: {what}"
            await CLOCK.sleep(timedelta(milliseconds=100))

    async def phase(self, kind_: Kind[Document], name: str, wanted: str) -> Document:
        """Wait until the object has this phase; the object."""
        found: list[Document] = []

        async def has_phase() -> bool:
            object_ = await self.find(kind_, name)
            found[:] = [object_] if object_ else []
            return bool(object_) and (object_ or {}).get("status", {}).get("phase") == wanted

        await self.seen(f"{name} {wanted}", has_phase)
        return found[0]

    async def told(self, name: str, reason: str) -> None:
        """Wait for an event about the object."""

        async def is_told() -> bool:
            page = await self.client.list(EVENTS, Selection(namespace=self.namespace))
            return any(
                (event["involvedObject"].get("name"), event["reason"]) == (name, reason)
                for event in page.items
            )

        await self.seen(f"{reason} about {name}", is_told)

    async def gone(self, kind_: Kind[Document], name: str) -> None:
        async def is_gone() -> bool:
            return await self.find(kind_, name) is None

        await self.seen(f"{name} gone", is_gone)

    async def stays(self, kind_: Kind[Document], name: str) -> None:
        """It is still there after controllers had time to act on it."""
        await CLOCK.sleep(timedelta(seconds=2))
        assert await self.find(kind_, name) is not None, f"{name} should have stayed"

    async def make_ready(self, pod: str) -> None:
        ready = {"type": "Ready", "status": "True"}
        await self.patch_status(PODS, pod, {"phase": "Running", "conditions": [ready]})

    def _key(self, kind_: Kind[Document], name: str) -> ObjectKey:
        return ObjectKey(self.namespace if kind_.resource.namespaced else "", name)


@contextlib.asynccontextmanager
async def place(kubeconfig: Path) -> AsyncIterator[Place]:
    async with connected(kubeconfig) as (client, namespace):
        yield Place(client, namespace)


def volume_spec(class_name: str, policy: str = "Retain") -> Document:
    return {
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": class_name,
        "persistentVolumeReclaimPolicy": policy,
        "csi": {"driver": "disk.example.com", "volumeHandle": system_ids().uid()},
    }


async def bound_pair(at: Place) -> str:
    """A claim `data` bound to a volume made by hand; the volume's name."""
    name = at.own("volume")
    await at.create(VOLUMES, name, spec=volume_spec(at.namespace))
    await at.phase(VOLUMES, name, "Available")
    await at.create(CLAIMS, "data", spec=CLAIM_SPEC | {"storageClassName": at.namespace})
    await at.phase(CLAIMS, "data", "Bound")
    await at.phase(VOLUMES, name, "Bound")
    return name


def uses(claim: str) -> list[Document]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]


async def story_a_claim_is_bound_and_its_volume_released(at: Place) -> None:
    name = await bound_pair(at)
    bound = await at.phase(CLAIMS, "data", "Bound")
    assert bound["spec"]["volumeName"] == name
    assert bound["status"]["capacity"] == {"storage": "2Gi"}
    assert bound["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] == "yes"
    await at.delete(CLAIMS, "data")
    await at.gone(CLAIMS, "data")
    await at.phase(VOLUMES, name, "Released")
    await at.delete(VOLUMES, name)
    await at.gone(VOLUMES, name)


async def story_a_claim_in_use_outlives_its_deletion(at: Place) -> None:
    name = await bound_pair(at)
    spec = {"containers": CONTAINERS, "volumes": uses("data"), "nodeName": "nowhere"}
    await at.create(PODS, "user", spec=spec)
    await CLOCK.sleep(timedelta(seconds=1))
    await at.delete(CLAIMS, "data")
    await at.stays(CLAIMS, "data")
    await at.delete(PODS, "user", grace=0)
    await at.gone(CLAIMS, "data")
    await at.delete(VOLUMES, name)
    await at.gone(VOLUMES, name)


async def story_a_bound_volume_outlives_its_deletion(at: Place) -> None:
    name = await bound_pair(at)
    await at.delete(VOLUMES, name)
    await at.stays(VOLUMES, name)
    await at.delete(CLAIMS, "data")
    await at.gone(VOLUMES, name)


async def story_a_stateful_set_makes_pods_and_claims_in_order(at: Place) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"name": "data"}, "spec": CLAIM_SPEC | {"storageClassName": "none"}}
    spec: Document = {
        "replicas": 2,
        "serviceName": "web",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": CONTAINERS}},
        "volumeClaimTemplates": [template],
    }
    await at.create(STATEFUL_SETS, "web", spec=spec)
    await at.phase(PODS, "web-0", "Pending")
    await at.stays(PODS, "web-0")
    assert await at.names(PODS) == ["web-0"], "the second has to wait for the first"
    await at.make_ready("web-0")
    await at.phase(PODS, "web-1", "Pending")
    assert await at.names(CLAIMS) == ["data-web-0", "data-web-1"]
    await at.delete(STATEFUL_SETS, "web")
    await at.gone(PODS, "web-0")
    await at.gone(PODS, "web-1")
    assert await at.names(CLAIMS) == ["data-web-0", "data-web-1"], "claims outlive their set"


async def story_an_ephemeral_volume_lives_and_dies_with_its_pod(at: Place) -> None:
    template = {"spec": CLAIM_SPEC | {"storageClassName": "none"}}
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}
    pod = await at.create(PODS, "user", spec={"containers": CONTAINERS, "volumes": [scratch]})
    made = await at.phase(CLAIMS, "user-scratch", "Pending")
    [owner] = made["metadata"]["ownerReferences"]
    assert owner["uid"] == pod["metadata"]["uid"]
    await at.delete(PODS, "user", grace=0)
    await at.gone(CLAIMS, "user-scratch")


async def story_what_is_owned_goes_with_its_owner(at: Place) -> None:
    owner = await at.create(CONFIG_MAPS, "owner")
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    await at.create(CONFIG_MAPS, "owned", metadata={"ownerReferences": [reference]})
    await at.create(CONFIG_MAPS, "free")
    await at.stays(CONFIG_MAPS, "owned")
    await at.delete(CONFIG_MAPS, "owner")
    await at.gone(CONFIG_MAPS, "owned")
    await at.stays(CONFIG_MAPS, "free")


async def story_a_claim_waits_for_its_first_consumer(at: Place) -> None:
    name = at.own("late")
    await at.create(
        CLASSES,
        name,
        provisioner="disk.example.com",
        volumeBindingMode="WaitForFirstConsumer",
    )
    await at.create(CLAIMS, "data", spec=CLAIM_SPEC | {"storageClassName": name})
    await at.told("data", "WaitForFirstConsumer")
    selected = {"volume.kubernetes.io/selected-node": "node-1"}
    patch = merge_patch({"metadata": {"annotations": selected}})
    key = ObjectKey(at.namespace, "data")
    await at.client.patch(CLAIMS, key, patch)

    async def is_handed_over() -> bool:
        claim = await at.client.get(CLAIMS, key)
        annotation = "volume.kubernetes.io/storage-provisioner"
        return bool(claim["metadata"]["annotations"].get(annotation) == "disk.example.com")

    await at.seen("handed over", is_handed_over)
    await at.delete(CLAIMS, "data")
    await at.gone(CLAIMS, "data")
    await at.delete(CLASSES, name)


async def story_a_budget_counts_its_pods(at: Place) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": CONTAINERS}}
    selector = {"matchLabels": labels}
    spec = {"replicas": 3, "selector": selector, "template": template}
    await at.create(REPLICA_SETS, "web", spec=spec)
    await at.create(BUDGETS, "web", spec={"selector": selector, "minAvailable": "60%"})

    async def counts_are(*wanted: int) -> None:
        async def are() -> bool:
            status = ((await at.find(BUDGETS, "web")) or {}).get("status", {})
            names = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
            return tuple(status.get(name) for name in names) == wanted

        await at.seen(f"counts {wanted}", are)

    await counts_are(3, 2, 0, 0)
    for name in await at.names(PODS):
        await at.make_ready(name)
    await counts_are(3, 2, 3, 1)
    status = (await at.client.get(BUDGETS, ObjectKey(at.namespace, "web")))["status"]
    [condition] = status["conditions"]
    told = {name: condition.get(name) for name in ("type", "status", "reason", "message")}
    assert told == {
        "type": "DisruptionAllowed",
        "status": "True",
        "reason": "SufficientPods",
        "message": "",
    }, condition
    assert condition["observedGeneration"] == status["observedGeneration"] == 1
    await at.delete(BUDGETS, "web")
    await at.delete(REPLICA_SETS, "web")


async def story_a_cron_job_starts_a_job(at: Place) -> None:
    pod = {"containers": CONTAINERS, "restartPolicy": "Never"}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"template": {"spec": pod}}}
    await at.create(CRON_JOBS, "often", spec={"schedule": "@every 3s", "jobTemplate": template})

    async def is_started() -> bool:
        return bool(await at.names(JOBS))

    await at.seen("a job", is_started)
    await at.told("often", "SuccessfulCreate")
    name = (await at.names(JOBS))[0]
    job = await at.client.get(JOBS, ObjectKey(at.namespace, name))
    stamp = job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    minute = int(datetime.fromisoformat(stamp).timestamp()) // 60
    assert (name, stamp[-1]) == (f"often-{minute}", "Z")
    [owner] = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"], owner["blockOwnerDeletion"]) == (
        "CronJob",
        True,
        True,
    )

    async def is_reported() -> bool:
        status = ((await at.find(CRON_JOBS, "often")) or {}).get("status", {})
        active = {reference["name"] for reference in status.get("active", ())}
        return name in active and bool(status.get("lastScheduleTime"))

    await at.seen("an active job", is_reported)
    await at.delete(CRON_JOBS, "often")
    await at.gone(JOBS, name)


async def story_a_node_says_by_taints_what_its_conditions_say(at: Place) -> None:
    name = at.own("node")
    await at.create(NODES, name, spec={"unschedulable": True})
    ready = {"type": "Ready", "status": "True"}
    full = {"type": "DiskPressure", "status": "True"}
    await at.patch_status(NODES, name, {"conditions": [ready, full]})

    async def taints_are(*wanted: str) -> None:
        async def are() -> bool:
            node = (await at.find(NODES, name)) or {}
            found = {f"{t['key']}:{t['effect']}" for t in node["spec"].get("taints", ())}
            return found == {f"node.kubernetes.io/{each}" for each in wanted}

        await at.seen(f"taints {wanted}", are)

    await taints_are("unschedulable:NoSchedule", "disk-pressure:NoSchedule")
    key = ObjectKey("", name)
    await at.client.patch(NODES, key, merge_patch({"spec": {"unschedulable": None}}))
    await taints_are("disk-pressure:NoSchedule")
    await at.patch_status(NODES, name, {"conditions": [ready]})
    await taints_are()
    await at.delete(NODES, name)


async def story_a_taint_ends_pods_that_do_not_tolerate_it(at: Place) -> None:
    name = at.own("node")
    await at.create(NODES, name)
    await at.patch_status(NODES, name, {"conditions": [{"type": "Ready", "status": "True"}]})
    tolerates = {"key": "broken", "operator": "Exists", "effect": "NoExecute"}
    spec: Document = {"containers": CONTAINERS, "nodeName": name}
    # A finalizer keeps the pod, so that what was written on it can be read.
    held = {"finalizers": ["example.com/hold"]}
    await at.create(PODS, "plain", metadata=held, spec=spec)
    await at.create(PODS, "patient", spec=spec | {"tolerations": [tolerates]})
    brief = tolerates | {"tolerationSeconds": 2}
    await at.create(PODS, "brief", metadata=held, spec=spec | {"tolerations": [brief]})
    await CLOCK.sleep(timedelta(seconds=1))
    taint = {"key": "broken", "effect": "NoExecute"}
    await at.client.patch(NODES, ObjectKey("", name), merge_patch({"spec": {"taints": [taint]}}))
    for pod in ("plain", "brief"):
        await at.told(pod, "TaintManagerEviction")
        await _is_marked(at, pod)
        key = ObjectKey(at.namespace, pod)
        await at.client.patch(PODS, key, merge_patch({"metadata": {"finalizers": None}}))
        await at.delete(PODS, pod, grace=0)
    await at.stays(PODS, "patient")
    await at.delete(PODS, "patient", grace=0)
    await at.delete(NODES, name)


async def _is_marked(at: Place, pod: str) -> None:
    async def is_leaving() -> bool:
        found = (await at.find(PODS, pod)) or {"metadata": {}}
        return "deletionTimestamp" in found["metadata"]

    await at.seen(f"{pod} leaving", is_leaving)
    conditions = (await at.client.get(PODS, ObjectKey(at.namespace, pod)))["status"]["conditions"]
    [told] = (c for c in conditions if c["type"] == "DisruptionTarget")
    assert (told["status"], told["reason"], told["message"]) == (
        "True",
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    ), told


Story = Callable[[Place], Awaitable[None]]

STORIES: tuple[Story, ...] = (
    story_a_claim_is_bound_and_its_volume_released,
    story_a_claim_in_use_outlives_its_deletion,
    story_a_bound_volume_outlives_its_deletion,
    story_a_claim_waits_for_its_first_consumer,
    story_a_stateful_set_makes_pods_and_claims_in_order,
    story_an_ephemeral_volume_lives_and_dies_with_its_pod,
    story_what_is_owned_goes_with_its_owner,
    story_a_budget_counts_its_pods,
    story_a_cron_job_starts_a_job,
    story_a_node_says_by_taints_what_its_conditions_say,
    story_a_taint_ends_pods_that_do_not_tolerate_it,
)


async def tell(kubeconfig: Path, stories: tuple[Story, ...], say: Callable[[str], None]) -> None:
    for story in stories:
        say(title(story))
        async with place(kubeconfig) as at:
            await story(at)


def title(story: Story) -> str:
    name: str = getattr(story, "__name__", "")
    return name.removeprefix("story_").replace("_", " ")
