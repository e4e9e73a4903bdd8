"""Our provisioner with the real hostpathplugin: capacity is published, used up and freed.

In two settings. Per cluster: one plugin, one provisioner, and a segment of two nodes that share
its capacity; a third node cannot reach it. Per node: each of three nodes has a plugin and a
provisioner of its own, with capacity of its own. In both, the same story is told to kube-scheduler
and to our own.

Nodes are objects that the story keeps ready, and pods do not run: the story looks at where each
claim gets its capacity, and whether the published numbers are those of the plugins.
"""

import contextlib
import functools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import uvloop

from conformance.cluster_stories import CLAIMS, EVENTS, PODS, VOLUMES, Place, place
from conformance.csi_checks import HOSTPATH, Say, a_driver, simulated_capacity
from conformance.csi_drivers import Driver, made_by, segments
from conformance.csi_sidecars import Sidecar, our_provisioner, our_provisioner_of_a_node
from conformance.csi_stories import CAPACITIES, CSI_DRIVERS, CSI_NODES
from conformance.programs import kube_controller_manager, kube_scheduler, our_scheduler
from conformance.scheduler_checks import OURS, THEIRS
from conformance.scheduling_stories import Stage, Who
from plimsoll.api.quantity import parse_bytes
from plimsoll.api.registry import Document
from plimsoll.wire.parameters import Selection

GIBIBYTE = 1 << 30
FULL = "did not have enough free storage"
SELECTED_NODE = "volume.kubernetes.io/selected-node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Yard:
    """Nodes with plugins that have room, and pods that ask for it."""

    stage: Stage
    drivers: Sequence[Driver]

    @property
    def at(self) -> Place:
        return self.stage.at

    async def open(self) -> None:
        """The driver's classes, one for each kind of volumes that the plugins know."""
        await self.stage.add(CSI_DRIVERS, HOSTPATH.name, spec=ABILITIES)
        for kind in ("fast", "slow"):
            await self.stage.add_class(kind, HOSTPATH.name, parameters={"kind": kind})

    async def add_node(self, name: str, driver: Driver) -> None:
        """A node that the driver's plugin serves, as a kubelet would have written it down."""
        reach = await segments(driver)
        entry = {"name": driver.name, "nodeID": name, "topologyKeys": sorted(reach)}
        await self.stage.add_node(name, reach)
        await self.stage.add(CSI_NODES, name, spec={"drivers": [entry]})

    async def has_capacity(self, kind: str, *gib: int) -> None:
        """Wait until exactly this is published for a class: a number for each plugin."""
        wanted = [
            (await segments(driver), size * GIBIBYTE)
            for driver, size in zip(self.drivers, gib, strict=True)
        ]
        await self._publishes(kind, wanted)

    async def has_withdrawn(self, kind: str) -> None:
        await self._publishes(kind, [])

    async def _publishes(self, kind: str, wanted: list[tuple[dict[str, str], int]]) -> None:
        found: list[tuple[dict[str, str], int]] = []

        async def is_published() -> bool:
            found[:] = await self._published(kind)
            return sorted(found, key=str) == sorted(wanted, key=str)

        try:
            await self.at.seen(f"room for {kind} volumes: {wanted}", is_published)
        except AssertionError as error:
            raise AssertionError(f"{error}; it was {found}") from error

    async def _published(self, kind: str) -> list[tuple[dict[str, str], int]]:
        page = await self.at.client.list(CAPACITIES, Selection())
        own = [item for item in page.items if item["storageClassName"] == self.at.own(kind)]
        for item in own:
            assert parse_bytes(item["maximumVolumeSize"]) == parse_bytes(item["capacity"])
        return [
            (item["nodeTopology"]["matchLabels"], parse_bytes(item["capacity"])) for item in own
        ]

    async def ask(self, pod: str, **gib: int) -> None:
        """A pod with a claim for each kind of volumes that it wants."""
        for kind, size in gib.items():
            await self.stage.add_claim(f"{pod}-{kind}", f"{size}Gi", kind)
        await self.stage.add_pod(pod, *(f"{pod}-{kind}" for kind in gib))

    async def node_of(self, pod: str) -> str:
        """Where the pod got room: the volumes of its claims are there."""

        async def is_placed() -> bool:
            return bool((await self.stage.nodes())[pod])

        await self.at.seen(f"{pod} on a node", is_placed)
        for claim in await self._claims_of(pod):
            await self.at.phase(CLAIMS, claim, "Bound")
        return (await self.stage.nodes())[pod]

    async def volumes_of(self, pod: str) -> list[Document]:
        claims = [await self.at.phase(CLAIMS, c, "Bound") for c in await self._claims_of(pod)]
        return [
            await self.at.phase(VOLUMES, claim["spec"]["volumeName"], "Bound") for claim in claims
        ]

    async def waits(self, pod: str) -> None:
        """The pod is told that there is no room, and nothing was begun for its claims."""
        await self.stage.refused(pod, FULL)
        await self.at.seen(f"an event about {pod}: {FULL}", functools.partial(self._told, pod))
        for name in await self._claims_of(pod):
            claim = await self.at.phase(CLAIMS, name, "Pending")
            assert SELECTED_NODE not in claim["metadata"].get("annotations", {})
            await self.at.told(name, "WaitForFirstConsumer")

    async def _told(self, pod: str) -> bool:
        page = await self.at.client.list(EVENTS, Selection(namespace=self.at.namespace))
        return any(
            event["involvedObject"]["name"] == pod
            and event["reason"] == "FailedScheduling"
            and FULL in event["message"]
            for event in page.items
        )

    async def give_back(self, pod: str) -> None:
        """The pod and its claims go, and their volumes with them."""
        volumes = [] if not (await self.stage.nodes())[pod] else await self.volumes_of(pod)
        claims = await self._claims_of(pod)
        await self.at.delete(PODS, pod, grace=0)
        for claim in claims:
            await self.at.delete(CLAIMS, claim)
            await self.at.gone(CLAIMS, claim)
        for volume in volumes:
            await self.at.gone(VOLUMES, volume["metadata"]["name"])

    async def _claims_of(self, pod: str) -> list[str]:
        found = await self.at.find(PODS, pod)
        assert found is not None
        return [
            volume["persistentVolumeClaim"]["claimName"]
            for volume in found["spec"]["volumes"]
            if "persistentVolumeClaim" in volume
        ]


ABILITIES: Document = {"attachRequired": False, "storageCapacity": True}
Story = Callable[[Yard], Awaitable[None]]


async def story_nodes_in_reach_share_the_room_of_one_plugin(yard: Yard) -> None:
    [driver] = yard.drivers
    near, next_to_it, far = driver.node, yard.at.own("near"), yard.at.own("far")
    await yard.add_node(near, driver)
    await yard.add_node(next_to_it, driver)
    await yard.stage.add_node(far)
    await yard.open()
    await yard.has_capacity("fast", 10)
    await yard.has_capacity("slow", 20)

    await yard.ask("large", fast=8)
    assert await yard.node_of("large") in {near, next_to_it}
    await yard.has_capacity("fast", 2)
    await yard.has_capacity("slow", 20)
    await yard.ask("both", fast=1, slow=15)
    assert await yard.node_of("both") in {near, next_to_it}
    await yard.has_capacity("fast", 1)
    await yard.has_capacity("slow", 5)

    await yard.ask("late", fast=3)
    await yard.waits("late")
    await yard.give_back("large")
    assert await yard.node_of("late") in {near, next_to_it}
    await yard.has_capacity("fast", 6)

    for pod in ("both", "late"):
        await yard.give_back(pod)
    await yard.has_capacity("fast", 10)
    await yard.has_capacity("slow", 20)
    await _closed(yard)


async def story_pods_go_to_the_nodes_that_have_room(yard: Yard) -> None:
    for driver in yard.drivers:
        await yard.add_node(driver.node, driver)
    first, second, third = (driver.node for driver in yard.drivers)
    await yard.open()
    await yard.has_capacity("fast", 4, 2, 10)
    await yard.has_capacity("slow", 1, 8, 1)

    await yard.ask("fast", fast=8)
    await yard.ask("slow", slow=5)
    assert await yard.node_of("fast") == third
    assert await yard.node_of("slow") == second
    await yard.has_capacity("fast", 4, 2, 2)
    await yard.has_capacity("slow", 1, 3, 1)
    await yard.ask("both", fast=3, slow=1)
    assert await yard.node_of("both") == first
    await yard.has_capacity("fast", 1, 2, 2)
    await yard.has_capacity("slow", 0, 3, 1)
    for pod, driver in zip(("both", "slow", "fast"), yard.drivers, strict=True):
        await _assert_at(await yard.volumes_of(pod), driver)

    await yard.ask("late", fast=3)
    await yard.waits("late")
    await yard.give_back("fast")
    assert await yard.node_of("late") == third
    await yard.has_capacity("fast", 1, 2, 7)

    for pod in ("slow", "both", "late"):
        await yard.give_back(pod)
    await yard.has_capacity("fast", 4, 2, 10)
    await yard.has_capacity("slow", 1, 8, 1)
    await _closed(yard)


async def story_of_many_provisioners_one_takes_a_claim_that_does_not_wait(yard: Yard) -> None:
    for driver in yard.drivers:
        await yard.add_node(driver.node, driver)
    await yard.open()
    kind: Document = {"kind": "fast"}
    await yard.stage.add_class("now", HOSTPATH.name, parameters=kind, volumeBindingMode="Immediate")
    await yard.stage.add_claim("data", "1Gi", "now")
    claim = await yard.at.phase(CLAIMS, "data", "Bound")
    volume = await yard.at.phase(VOLUMES, claim["spec"]["volumeName"], "Bound")
    made = [len(await made_by(driver)) for driver in yard.drivers]
    assert sorted(made) == [0, 0, 1], f"volumes in the plugins: {made}"
    await _assert_at([volume], yard.drivers[made.index(1)])
    await yard.has_withdrawn("now")
    await yard.at.delete(CLAIMS, "data")
    await yard.at.gone(VOLUMES, volume["metadata"]["name"])
    await _closed(yard)


async def _assert_at(volumes: list[Document], driver: Driver) -> None:
    """They are in this plugin, and can be used on its node alone."""
    reach = await segments(driver)
    expressions = [{"key": k, "operator": "In", "values": [v]} for k, v in reach.items()]
    for volume in volumes:
        assert volume["spec"]["csi"]["volumeHandle"] in await made_by(driver)
        terms = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert terms == [{"matchExpressions": expressions}], terms


async def _closed(yard: Yard) -> None:
    """Without classes there is nothing to publish; and the plugins have nothing any more."""
    await yard.stage.leave()
    for kind in ("fast", "slow"):
        await yard.has_withdrawn(kind)
    for driver in yard.drivers:
        kept = [path.name for path in driver.state.iterdir() if path.name != "state.json"]
        assert kept == [], f"left by {driver.node}: {kept}"
        assert await made_by(driver) == []


def per_cluster(kubeconfig: Path, say: Say) -> None:
    """Raises AssertionError when the story does not end as it should, or something is left."""
    capacities = ({"fast": "10Gi", "slow": "20Gi"},)
    story = story_nodes_in_reach_share_the_room_of_one_plugin
    with _fleet(kubeconfig, capacities, our_provisioner) as drivers:
        uvloop.run(_tell(kubeconfig, drivers, {story: (THEIRS, OURS)}, say))


def per_node(kubeconfig: Path, say: Say) -> None:
    """Raises AssertionError when a story does not end as it should, or something is left."""
    capacities = (
        {"fast": "4Gi", "slow": "1Gi"},
        {"fast": "2Gi", "slow": "8Gi"},
        {"fast": "10Gi", "slow": "1Gi"},
    )
    stories: dict[Story, tuple[str, ...]] = {
        story_pods_go_to_the_nodes_that_have_room: (THEIRS, OURS),
        # There is nothing to be scheduled.
        story_of_many_provisioners_one_takes_a_claim_that_does_not_wait: (OURS,),
    }
    with _fleet(kubeconfig, capacities, our_provisioner_of_a_node) as drivers:
        uvloop.run(_tell(kubeconfig, drivers, stories, say))


@contextlib.contextmanager
def _fleet(
    kubeconfig: Path, capacities: Sequence[dict[str, str]], provisioner: Sidecar
) -> Iterator[list[Driver]]:
    """A plugin with a provisioner for each room, in a cluster with both schedulers."""
    with ExitStack() as running:
        drivers = [
            running.enter_context(a_driver(replace(HOSTPATH, ground=simulated_capacity(**sizes))))
            for sizes in capacities
        ]
        for program in (kube_controller_manager, kube_scheduler, our_scheduler):
            running.enter_context(program(kubeconfig, drivers[0].directory))
        for driver in drivers:
            running.enter_context(provisioner(kubeconfig, driver))
        yield drivers


async def _tell(
    kubeconfig: Path,
    drivers: Sequence[Driver],
    stories: Mapping[Story, Sequence[str]],
    say: Say,
) -> None:
    """Each story to the schedulers that are named with it."""
    for story, scheduler in ((each, who) for each, all_ in stories.items() for who in all_):
        name: str = getattr(story, "__name__", "")
        say(f"{scheduler}: {name.removeprefix('story_').replace('_', ' ')}")
        async with place(kubeconfig) as at:
            stage = Stage(at, Who(scheduler=scheduler, provisioner=HOSTPATH.name))
            try:
                await story(Yard(stage=stage, drivers=drivers))
            finally:
                await stage.leave()
