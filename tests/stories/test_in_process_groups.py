"""A pod with one claim of a provisioner inside the controller and one of a CSI driver gets both
volumes on one node, or none stays there.

The first node is scored highest and has no room for one of the two. Topology is strict and capacity
is not tracked: only the provisioner, or the driver, knows.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import Intent, read_intent
from plimsoll.decide.scheduling.binding.groups import read_group
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    MadeVolume,
    ProvisionerError,
    ProvisionRequest,
    Trouble,
)
from plimsoll.processes.controller.in_process.provisioners.zones import ZONE
from plimsoll.processes.driver.backends.pools.faults import FaultyCall, Hang, When
from plimsoll.simulator.stories.cluster import Controller, StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim, namespace, volume
from plimsoll.simulator.stories.provisioners import a_class, binding
from plimsoll.simulator.stories.schedulers import (
    SELECTED_NODE,
    RunningScheduler,
    a_claim,
    a_delayed_class,
    a_pod,
    node_of,
    volume_of,
)
from plimsoll.simulator.stories.sidecars import NAMESPACE, RunningProvisioner, StoryStorage
from tests.stories.test_groups import (
    ENOUGH,
    FREE,
    FULL,
    NODES,
    OTHER,
    SETTINGS,
    STRICT,
    a_driver,
    add_nodes,
    driver_object,
)
from tests.stories.test_in_process_intents import (
    NAME,
    NO_ANSWER,
    PROTECTION,
    Shelf,
    add_zones,
    select,
)

BOTH = msgspec.structs.replace(SETTINGS, record_namespaces=f"kube-system,{NAMESPACE}")
MOST_CUTS = 60
FELL_DOWN = ProvisionerError(Trouble.TRY_AGAIN, "the shelf fell down")


@dataclass
class ZonalShelf(Shelf):
    full: set[str] = field(default_factory=set)
    """Zones without room."""
    waits: bool = False
    """Whether it answers that it is busy."""

    async def provision(self, request: ProvisionRequest) -> MadeVolume:
        node = request.selected_node
        if self.waits:
            raise ProvisionerError(Trouble.TRY_AGAIN, "busy")
        if node is not None and node.labels[ZONE] in self.full:
            raise ProvisionerError(Trouble.WRONG_NODE, "no room there")
        return await super().provision(request)


@dataclass
class Scene:
    cluster: StoryCluster
    shelf: ZonalShelf
    storage: StoryStorage

    async def control(self, **life: object) -> Controller:
        await self.cluster.kill_controllers()
        return await self.cluster.start(*PROTECTION, more=binding(self.shelf), **life)

    async def intents(self) -> list[Intent]:
        read = [read_intent(lease) for lease in await self.cluster.all("Lease")]
        return [intent for intent in read if intent is not None]

    async def inner_states(self) -> list[tuple[int, str]]:
        """By number, of the claim whose provisioner is inside the controller."""
        mine = [each for each in await self.intents() if each.driver == NAME]
        return sorted((each.number, each.state.value) for each in mine)

    @property
    def open_intents(self) -> float | None:
        """As the controller counts them."""
        registry = self.cluster.controllers[0].tools.metrics.registry
        return registry.get_sample_value("plimsoll_controller_intents_open")

    async def inner_state(self) -> str:
        """Of the claim whose provisioner is inside the controller; empty: there is no intent."""
        return next((each.state for each in await self.intents() if each.driver == NAME), "")

    async def annotations(self, name: str) -> Document:
        found = await self.cluster.get("PersistentVolumeClaim", name)
        annotations: Document = found["metadata"].get("annotations") or {}
        return annotations

    async def is_tidy(self) -> bool:
        made = len(self.storage.ids) + len(self.shelf.assets)
        groups = [read_group(lease) for lease in await self.cluster.all("Lease")]
        is_open = any(intent.state.is_open for intent in await self.intents())
        recorded = await self.cluster.names("PersistentVolume")
        return made == len(recorded) and not any(groups) and not is_open

    async def has_both_on(self, node: str) -> bool:
        zone = node.removeprefix("node-")
        return (
            await node_of(self.cluster, "web") == node
            and [*self.shelf.assets.values()] == [zone]
            and self.storage.pools_used == [(node,)]
            and bool(await volume_of(self.cluster, "inner"))
            and bool(await volume_of(self.cluster, "outer"))
            and await self.is_tidy()
        )


@asynccontextmanager
async def a_scene(
    *,
    outer: Sequence[str] = (FREE, FREE),
    full: str = "",
    shelf: ZonalShelf | None = None,
    **life: object,
) -> AsyncIterator[Scene]:
    """`outer` is the room of the driver on each node, `full` the zones without room inside."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster())
        await cluster.create(namespace(NAMESPACE))
        storage = await a_driver(cluster, stack, OTHER, outer)
        await add_nodes(cluster, [OTHER])
        for node in NODES:
            labels = {"labels": {ZONE: node.removeprefix("node-")}}
            await cluster.patch("Node", node, {"metadata": labels})
        scene = Scene(cluster, shelf or ZonalShelf(full={*full}), storage)
        await cluster.create(driver_object(OTHER), a_delayed_class("outer", OTHER))
        await cluster.create(a_class(NAME, "inner", waits=True))
        await scene.control(**life)
        provisioner = RunningProvisioner(cluster, storage, STRICT, seed=1)
        scheduler = RunningScheduler(cluster, BOTH, seed=2)
        await provisioner.start()
        await scheduler.start()
        try:
            yield scene
            provisioner.check()
            scheduler.check()
        finally:
            await scheduler.kill()
            await provisioner.kill()


async def two_claims(scene: Scene) -> None:
    wanted = [a_claim(name, class_name=name) for name in ("inner", "outer")]
    await scene.cluster.create(*wanted, a_pod(claims=("inner", "outer")))


async def test_a_pod_whose_driver_refuses_leaves_nothing_inside_the_controller() -> None:
    async with a_scene(outer=(FULL, FREE)) as scene:
        await two_claims(scene)
        await scene.cluster.wait(ENOUGH)
        assert await scene.has_both_on("node-b")
        [deleted] = scene.shelf.deleted
        assert [*scene.shelf.assets] == [f"{deleted}-1"], "no name is used twice"


async def test_a_pod_whose_inner_provisioner_refuses_leaves_nothing_at_the_driver() -> None:
    async with a_scene(full="a") as scene:
        await two_claims(scene)
        await scene.cluster.wait(ENOUGH)
        assert await scene.has_both_on("node-b")
        assert scene.storage.deletions == 1


async def test_no_volume_is_recorded_before_both_are_there() -> None:
    async with a_scene() as scene:
        scene.storage.set_faults(Hang(call=FaultyCall.CREATE, when=When.BEFORE))
        await two_claims(scene)
        await scene.cluster.wait(timedelta(seconds=30))
        assert len(scene.shelf.assets) == 1
        assert await scene.inner_state() == "Made"
        assert await scene.cluster.names("PersistentVolume") == []
        scene.storage.set_faults()
        await scene.cluster.wait(ENOUGH)
        assert await scene.has_both_on("node-a")
        assert len(scene.shelf.made) == 1


async def test_what_the_controller_refuses_without_asking_is_told_as_well() -> None:
    async with a_scene() as scene:
        odd = a_class(NAME, "odd", waits=True, parameters={"colour": "green"})
        wanted = [a_claim("inner", class_name="odd"), a_claim("outer", class_name="outer")]
        await scene.cluster.create(odd, *wanted, a_pod(claims=("inner", "outer")))
        await scene.cluster.wait(timedelta(minutes=1))
        assert scene.shelf.made == []
        assert scene.storage.ids == [], "it is not kept until time is up"
        told = [intent.refusal for intent in await scene.intents() if intent.driver == NAME]
        assert all("unknown parameters: colour" in each for each in told)
        assert told


async def test_a_pod_that_goes_away_leaves_nothing() -> None:
    async with a_scene() as scene:
        scene.storage.set_faults(Hang(call=FaultyCall.CREATE, when=When.BEFORE))
        await two_claims(scene)
        await scene.cluster.wait(timedelta(seconds=20))
        await scene.cluster.delete("Pod", "web")
        await scene.cluster.wait(ENOUGH)
        scene.storage.set_faults()
        await scene.cluster.wait(ENOUGH)
        assert (scene.shelf.assets, scene.storage.ids) == ({}, [])
        for name in ("inner", "outer"):
            left = await scene.annotations(name)
            assert not {HOLD, SELECTED_NODE} & left.keys()
        assert await scene.is_tidy()


async def test_an_asset_that_cannot_be_deleted_keeps_no_pod_waiting() -> None:
    """The pod gets its volumes on another node meanwhile, the claim an asset of another name."""
    async with a_scene(outer=(FULL, FREE)) as scene:
        scene.shelf.deletion_moods = [FELL_DOWN] * 1000
        await two_claims(scene)
        await scene.cluster.wait(timedelta(minutes=6))
        assert await node_of(scene.cluster, "web") == "node-b"
        name = await volume_of(scene.cluster, "inner")
        assert scene.shelf.assets == {name: "a", f"{name}-1": "b"}
        assert await scene.inner_states() == [(0, "Undoing")]
        told = [message for _, message in await scene.cluster.events("inner")]
        assert any("the shelf fell down" in each and name in each for each in told)
        assert scene.open_intents == 1
        scene.shelf.deletion_moods = []
        await scene.cluster.wait(timedelta(minutes=6))
        assert await scene.has_both_on("node-b")
        assert await scene.inner_states() == []
        assert scene.shelf.deleted == [name]


async def test_an_asset_that_was_given_up_is_deleted_also_when_its_claim_is_gone() -> None:
    async with a_scene(outer=(FULL, FREE)) as scene:
        scene.shelf.deletion_moods = [FELL_DOWN] * 1000
        await two_claims(scene)
        await scene.cluster.wait(ENOUGH)
        await scene.cluster.delete("Pod", "web", grace=0)
        for name in ("inner", "outer"):
            await scene.cluster.delete("PersistentVolumeClaim", name)
        await scene.cluster.wait(ENOUGH)
        assert await scene.inner_states() == [(0, "Undoing")]
        scene.shelf.deletion_moods = []
        await scene.cluster.wait(timedelta(minutes=6))
        assert (scene.shelf.assets, await scene.inner_states()) == ({}, [])


async def test_the_number_of_what_was_given_up_is_kept_while_the_claim_waits() -> None:
    async with a_scene(outer=(FULL, FULL)) as scene:
        scene.shelf.deletion_moods = [FELL_DOWN] * 4
        await two_claims(scene)
        await scene.cluster.wait(timedelta(minutes=12))
        made = scene.shelf.made
        assert len(made) > 2
        assert len(made) == len({*made}), "no name is used twice"
        assert not await node_of(scene.cluster, "web")


async def test_a_claim_without_a_hold_waits_for_its_asset_to_be_deleted() -> None:
    """As it does for a driver."""
    shelf = ZonalShelf(moods=[NO_ANSWER], deletion_moods=[FELL_DOWN] * 1000)
    async with a_cluster() as cluster:
        await add_zones(cluster)
        await cluster.create(a_class(NAME, waits=True), claim())
        await select(cluster, "node-a")
        await cluster.start(*PROTECTION, more=binding(shelf))
        await cluster.wait(timedelta(milliseconds=200))
        await select(cluster, "node-b")
        await cluster.wait(ENOUGH)
        assert [*shelf.assets.values()] == ["a"]
        shelf.deletion_moods = []
        await cluster.wait(ENOUGH)
        assert [*shelf.assets.values()] == ["b"]


async def test_the_next_controller_deletes_what_was_given_up_and_no_recorded_asset() -> None:
    """The volume that is recorded has the name that the first asset was asked for under."""
    async with a_scene(outer=(FULL, FREE)) as scene:
        scene.shelf.deletion_moods = [FELL_DOWN] * 1000
        await two_claims(scene)
        await scene.cluster.wait(timedelta(minutes=6))
        assert len(scene.shelf.assets) == 2
        await scene.control()
        scene.shelf.deletion_moods = []
        await scene.cluster.wait(ENOUGH)
        assert await scene.has_both_on("node-b")


async def test_what_was_given_up_and_then_recorded_by_hand_is_kept() -> None:
    async with a_scene(outer=(FULL, FREE)) as scene:
        scene.shelf.deletion_moods = [FELL_DOWN] * 1000
        await two_claims(scene)
        await scene.cluster.wait(ENOUGH)
        name = await volume_of(scene.cluster, "inner")
        by_hand = volume("by-hand", spec={"nfs": {"server": "shelf", "path": f"/{name}"}})
        del by_hand["spec"]["csi"]
        await scene.cluster.create(by_hand)
        scene.shelf.deletion_moods = []
        await scene.cluster.wait(timedelta(minutes=6))
        assert scene.shelf.assets == {name: "a", f"{name}-1": "b"}
        assert await scene.inner_states() == []


async def test_deleting_the_lease_of_what_was_given_up_ends_it() -> None:
    async with a_scene(outer=(FULL, FREE)) as scene:
        scene.shelf.deletion_moods = [FELL_DOWN] * 1000
        await two_claims(scene)
        await scene.cluster.wait(timedelta(minutes=6))
        [left] = [intent for intent in await scene.intents() if intent.driver == NAME]
        await scene.cluster.delete("Lease", left.name, "kube-system")
        await scene.cluster.wait(timedelta(minutes=6))
        tried = len(scene.shelf.deletion_moods)
        await scene.cluster.wait(timedelta(minutes=10))
        assert len(scene.shelf.deletion_moods) == tried, "it is not tried any more"
        assert scene.open_intents == 0


async def test_a_group_whose_node_is_deleted_moves_to_another() -> None:
    async with a_scene() as scene:
        scene.shelf.waits = True
        await two_claims(scene)
        await scene.cluster.wait(timedelta(seconds=20))
        for kind in ("Node", "CSINode"):
            await scene.cluster.delete(kind, "node-a")
        scene.shelf.waits = False
        await scene.cluster.wait(ENOUGH)
        assert await scene.has_both_on("node-b")


async def test_what_was_made_for_a_node_that_is_gone_is_deleted() -> None:
    """The selected node stays on the claim, as with kube-controller-manager."""
    shelf = ZonalShelf(moods=[ProvisionerError(Trouble.TRY_AGAIN, "no answer")])
    async with a_cluster() as cluster:
        await add_zones(cluster)
        await cluster.create(a_class(NAME, waits=True), claim())
        selected = {"metadata": {"annotations": {SELECTED_NODE: "node-a"}}}
        await cluster.patch("PersistentVolumeClaim", "data", selected)

        def cut_off() -> None:
            cluster.controllers[0].cut_off()

        shelf.on_effect = cut_off
        await cluster.start(*PROTECTION, more=binding(shelf))
        await cluster.wait(timedelta(seconds=2))
        assert len(shelf.assets) == 1
        await cluster.kill_controllers()
        shelf.on_effect = lambda: None
        await cluster.delete("Node", "node-a")
        await cluster.start(*PROTECTION, more=binding(shelf))
        await cluster.wait(ENOUGH)
        assert shelf.assets == {}
        found = await cluster.get("PersistentVolumeClaim", "data")
        assert found["metadata"]["annotations"][SELECTED_NODE] == "node-a"


CASES = [
    pytest.param((FULL, FREE), "", id="the-driver-refuses"),
    pytest.param((FREE, FREE), "a", id="the-inner-one-refuses"),
    pytest.param((FREE, FREE), "", id="none-refuses"),
]


async def test_cut_off_after_any_write_what_was_given_up_is_settled_and_no_name_used_twice() -> (
    None
):
    for number in range(1, MOST_CUTS):
        async with a_scene(outer=(FULL, FREE), cut_after=number) as scene:
            scene.shelf.deletion_moods = [FELL_DOWN] * 1000
            await two_claims(scene)
            await scene.cluster.wait(timedelta(seconds=30))
            was_cut = scene.cluster.controllers[0].is_cut_off
            await scene.control()
            await scene.cluster.wait(timedelta(minutes=6))
            where = await node_of(scene.cluster, "web")
            assert where, f"cut off after write {number}"
            scene.shelf.deletion_moods = []
            await scene.cluster.wait(timedelta(minutes=6))
            assert await scene.has_both_on(where), f"cut off after write {number}"
            made = scene.shelf.made
            assert len(made) == len({*made}), f"{number}: a name was used twice"
        if not was_cut:
            assert number > 8, "intents, volumes, claims and events are writes"
            return
    pytest.fail("it never came to an end of its writes")


@pytest.mark.parametrize(("outer", "full"), CASES)
async def test_cut_off_after_any_write_the_next_controller_goes_on(
    outer: Sequence[str], full: str
) -> None:
    for number in range(1, MOST_CUTS):
        async with a_scene(outer=outer, full=full, cut_after=number) as scene:
            await two_claims(scene)
            await scene.cluster.wait(timedelta(seconds=20))
            was_cut = scene.cluster.controllers[0].is_cut_off
            await scene.control()
            await scene.cluster.wait(ENOUGH)
            where = await node_of(scene.cluster, "web")
            assert where, f"cut off after write {number}"
            assert await scene.has_both_on(where), f"cut off after write {number}"
            made = scene.shelf.made
            assert len(made) == len({*made}), f"{number}: a name was used twice"
        if not was_cut:
            assert number > 6, "intents, volumes, claims and events are writes"
            return
    pytest.fail("it never came to an end of its writes")


@pytest.mark.parametrize(("outer", "full"), CASES)
async def test_cut_off_after_any_effect_the_next_controller_goes_on(
    outer: Sequence[str], full: str
) -> None:
    for number in (1, 2, 3):
        async with a_scene(outer=outer, full=full) as scene:

            def on_effect(scene: Scene = scene, number: int = number) -> None:
                if scene.shelf.effects == number:
                    scene.cluster.controllers[0].cut_off()

            scene.shelf.on_effect = on_effect
            await two_claims(scene)
            await scene.cluster.wait(timedelta(seconds=20))
            scene.shelf.on_effect = lambda: None
            await scene.control()
            await scene.cluster.wait(ENOUGH)
            where = await node_of(scene.cluster, "web")
            assert where, f"cut off after effect {number}"
            assert await scene.has_both_on(where), f"cut off after effect {number}"
