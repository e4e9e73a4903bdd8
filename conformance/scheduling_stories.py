"""What users see of scheduling with volumes, with either scheduler on either API server.

The stories are those of the specification's end-to-end list. Each has its own nodes, which no other
pods are let onto.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from conformance.client_checks import CLOCK
from conformance.cluster_stories import (
    CLAIMS,
    CLASSES,
    CONTAINERS,
    PODS,
    STATEFUL_SETS,
    VOLUMES,
    Place,
    kind,
    title,
)
from plimsoll.api.registry import Document
from plimsoll.wire.kind import Kind
from plimsoll.wire.parameters import Selection

NODES = kind("Node")
CAPACITIES = kind("CSIStorageCapacity", "storage.k8s.io")
DRIVERS = kind("CSIDriver", "storage.k8s.io")
HOSTNAME, STORY = "kubernetes.io/hostname", "plimsoll.dev/story"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
GIB = "1Gi"
SETTLED = timedelta(seconds=4)
NO_LABELS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """The names of the scheduler and the provisioner that do the work."""

    scheduler: str
    provisioner: str
    """One that is part of the controller which runs."""


class Stage:
    """A place with nodes of its own."""

    def __init__(self, at: Place, who: Who) -> None:
        self.at = at
        self.who = who
        self._made: list[tuple[Kind[Document], str]] = []

    def node(self, letter: str) -> str:
        return self.at.own(letter)

    async def add_nodes(self, letters: str, **room: str) -> None:
        for letter in letters:
            await self.add_node(self.node(letter), **room)

    async def add_node(
        self, name: str, labels: Mapping[str, str] = NO_LABELS, /, **room: str
    ) -> None:
        own = {HOSTNAME: name, STORY: self.at.namespace}
        await self.add(NODES, name, metadata={"name": name, "labels": {**labels, **own}})
        offered = {"cpu": "4", "memory": "8Gi", "pods": "110"} | room
        ready = {"type": "Ready", "status": "True"}
        status = {"capacity": offered, "allocatable": offered, "conditions": [ready]}
        await self.at.patch_status(NODES, name, status)

    async def add_class(
        self, name: str = "local", provisioner: str = NO_PROVISIONER, **fields: object
    ) -> None:
        wanted = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
        await self.add(CLASSES, self.at.own(name), **(wanted | fields))

    async def add(self, kind_: Kind[Document], name: str, **fields: object) -> None:
        """An object that goes when the story ends."""
        self._made.append((kind_, name))
        await self.at.create(kind_, name, **fields)

    async def add_disk(
        self, letter: str, number: int = 0, size: str = GIB, *, class_name: str = "local"
    ) -> str:
        """A volume that only one node can reach; its name."""
        name = self.at.own(f"{class_name}-{letter}{number}")
        expression = {"key": HOSTNAME, "operator": "In", "values": [self.node(letter)]}
        spec = {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self.at.own(class_name),
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": f"/mnt/{name}"},
            "nodeAffinity": {
                "required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
            },
        }
        await self.at.create(VOLUMES, name, spec=spec)
        self._made.append((VOLUMES, name))

        async def is_there() -> bool:
            """A claim may take it at once."""
            found = await self.at.find(VOLUMES, name) or {}
            return found.get("status", {}).get("phase") in ("Available", "Bound")

        await self.at.seen(f"{name} available", is_there)
        return name

    def claim_spec(self, size: str = GIB, class_name: str = "local") -> Document:
        return {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": self.at.own(class_name),
        }

    def pod_spec(self, claims: Sequence[str] = (), **fields: object) -> Document:
        volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
        spec: Document = {
            "schedulerName": self.who.scheduler,
            "containers": CONTAINERS,
            "nodeSelector": {STORY: self.at.namespace},
            "volumes": volumes,
        }
        return spec | fields

    async def add_claim(self, name: str, size: str = GIB, class_name: str = "local") -> None:
        await self.at.create(CLAIMS, name, spec=self.claim_spec(size, class_name))

    async def add_pod(self, name: str, *claims: str, **fields: object) -> None:
        await self.at.create(PODS, name, spec=self.pod_spec(claims, **fields))

    async def add_set(self, replicas: int) -> None:
        labels = {"app": "web"}
        spec: Document = {
            "replicas": replicas,
            "serviceName": "web",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": self.pod_spec()},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": self.claim_spec()}],
        }
        await self.at.create(STATEFUL_SETS, "web", spec=spec)

    async def nodes(self) -> dict[str, str]:
        """Where each pod is; empty: nowhere."""
        page = await self.at.client.list(PODS, Selection(namespace=self.at.namespace))
        return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in page.items}

    async def placed(self, number: int) -> dict[str, str]:
        """Wait until so many pods have nodes, and see that it stays like that."""

        async def are_placed() -> bool:
            return sum(map(bool, (await self.nodes()).values())) == number

        await self.at.seen(f"{number} pods on nodes", are_placed)
        return await self.nodes()

    async def refused(self, pod: str, sentence: str) -> None:
        """Wait until the pod is told why it has no node."""
        told: list[Document] = []

        async def is_told() -> bool:
            found = await self.at.find(PODS, pod) or {}
            conditions = found.get("status", {}).get("conditions", ())
            told[:] = [c for c in conditions if c["type"] == "PodScheduled"]
            return any(c["reason"] == "Unschedulable" and sentence in c["message"] for c in told)

        try:
            await self.at.seen(f"{pod} told: {sentence}", is_told)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is told: {told}") from None

    async def add_tracked_class(self, name: str) -> None:
        """Of a driver that says how much room it has."""
        driver = self.at.own(name)
        await self.add(DRIVERS, driver, spec={"storageCapacity": True})
        await self.add_class(name, driver)

    async def leave(self) -> None:
        await self.at.delete(STATEFUL_SETS, "web")
        for name in await self.at.names(PODS):
            await self.at.delete(PODS, name, grace=0)
        for kind_, name in self._made:
            await self.at.delete(kind_, name)


async def story_a_set_of_three_gets_the_disks_of_three_nodes(stage: Stage) -> None:
    await stage.add_nodes("abc")
    await stage.add_class()
    for letter in "abc":
        await stage.add_disk(letter)
    await stage.add_set(3)
    placed = await stage.placed(3)
    assert sorted(placed.values()) == [stage.node(letter) for letter in "abc"]


async def story_with_disks_on_two_of_three_nodes_one_pod_waits(stage: Stage) -> None:
    await stage.add_nodes("abc")
    await stage.add_class()
    for letter in "ab":
        await stage.add_disk(letter)
    await stage.add_set(3)
    placed = await stage.placed(2)
    (waiting,) = [name for name, node in placed.items() if not node]
    await stage.refused(waiting, "didn't find available persistent volumes to bind")
    await stage.add_disk("c")
    assert (await stage.placed(3))[waiting] == stage.node("c")


async def story_several_claims_go_where_all_of_them_find_disks(stage: Stage) -> None:
    await stage.add_nodes("ab")
    await stage.add_class()
    await stage.add_disk("a")
    names = {await stage.add_disk("b", number) for number in range(2)}
    await stage.add_claim("one")
    await stage.add_claim("two")
    await stage.add_pod("web", "one", "two")
    assert await stage.placed(1) == {"web": stage.node("b")}
    bound = {
        (await stage.at.phase(CLAIMS, c, "Bound"))["spec"]["volumeName"] for c in ("one", "two")
    }
    assert bound == names


async def story_several_claims_take_nothing_where_not_all_find_disks(stage: Stage) -> None:
    await stage.add_nodes("ab")
    await stage.add_class()
    names = [await stage.add_disk(letter) for letter in "ab"]
    await stage.add_claim("one")
    await stage.add_claim("two")
    await stage.add_pod("web", "one", "two")
    await stage.refused("web", "didn't find available persistent volumes to bind")
    for name in names:
        found = await stage.at.find(VOLUMES, name)
        assert found is not None
        assert "claimRef" not in found["spec"]


async def story_without_a_disk_a_volume_is_provisioned(stage: Stage) -> None:
    await stage.add_nodes("a")
    await stage.add_class("local", stage.who.provisioner)
    disk = await stage.add_disk("a")
    await stage.add_claim("first")
    await stage.add_pod("one", "first")
    await stage.placed(1)
    assert (await stage.at.phase(CLAIMS, "first", "Bound"))["spec"]["volumeName"] == disk
    await stage.add_claim("second")
    await stage.add_pod("two", "second")
    await stage.placed(2)
    made = await stage.at.phase(CLAIMS, "second", "Bound")
    assert made["spec"]["volumeName"].startswith("pvc-")


async def story_a_claim_goes_where_there_is_room_for_it(stage: Stage) -> None:
    """And waits, until more is published."""
    await stage.add_nodes("ab")
    await stage.add_tracked_class("tracked")
    for letter, size in (("a", "5Gi"), ("b", "50Gi")):
        await stage.at.create(
            CAPACITIES,
            letter,
            storageClassName=stage.at.own("tracked"),
            capacity=size,
            nodeTopology={"matchLabels": {HOSTNAME: stage.node(letter)}},
        )
    await stage.add_claim("large", "20Gi", "tracked")
    await stage.add_claim("huge", "100Gi", "tracked")
    await stage.add_pod("large", "large")
    await stage.add_pod("huge", "huge")
    await stage.refused("huge", "did not have enough free storage")

    async def is_selected() -> bool:
        claim = await stage.at.find(CLAIMS, "large") or {}
        annotations = claim.get("metadata", {}).get("annotations", {})
        return bool(annotations.get("volume.kubernetes.io/selected-node") == stage.node("b"))

    await stage.at.seen("the only node with room is selected", is_selected)


Story = Callable[[Stage], Awaitable[None]]

STORIES: tuple[Story, ...] = (
    story_a_set_of_three_gets_the_disks_of_three_nodes,
    story_with_disks_on_two_of_three_nodes_one_pod_waits,
    story_several_claims_go_where_all_of_them_find_disks,
    story_several_claims_take_nothing_where_not_all_find_disks,
    story_without_a_disk_a_volume_is_provisioned,
    story_a_claim_goes_where_there_is_room_for_it,
)


async def offer(stage: Stage, seed: int, pods: int = 24) -> set[str]:
    """Pods that may or may not have a node, each with a class and disks of its own, so that none
    depends on what another got. Returns those that got one."""
    chance = Random(seed)
    await stage.add_nodes("abcd")
    await stage.add_class()
    for number in range(pods):
        name = f"pod-{number:02}"
        await stage.add_class(name)
        sizes = [chance.randint(1, 4) for _ in range(chance.randint(0, 3))]
        for index, size in enumerate(sizes):
            await stage.add_disk(chance.choice("abcd"), index, f"{size}Gi", class_name=name)
        claims = [f"{name}-{index}" for index in range(chance.randint(1, 2))]
        for claim in claims:
            await stage.add_claim(claim, f"{chance.randint(1, 3)}Gi", name)
        await stage.add_pod(name, *claims)
    await _settled(stage)
    return {name for name, node in (await stage.nodes()).items() if node}


async def _settled(stage: Stage) -> None:
    """Until for some seconds no pod got a node."""
    before: dict[str, str] = {}
    while before != (now := await stage.nodes()):
        before = now
        await CLOCK.sleep(SETTLED)


def story_title(story: Story) -> str:
    return title(story)  # type: ignore[arg-type]  # it only looks at the name
