"""No asset of a provisioner inside the controller is lost sight of: an intent is stored first.

The owner of a claim may delete it, or take any finalizer off it, at every moment; the controller
may end after any of its writes, and after any effect of a provisioner.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.intents import (
    Intent,
    StoredIntent,
    lease_document,
    read_intent,
)
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    DeleteRequest,
    MadeVolume,
    Provisioner,
    ProvisionerError,
    ProvisionRequest,
    Trouble,
)
from plimsoll.processes.controller.in_process.provisioners.zones import ZONE
from plimsoll.reconcile.intents import STRAYS_EVERY
from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.runtime.leading.fence import Fence
from plimsoll.simulator.stories.cluster import Controller, StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim, volume
from plimsoll.simulator.stories.provisioners import a_class, binding
from plimsoll.simulator.stories.refusing_transport import forbidden
from plimsoll.simulator.stories.story_process import reach_out

NAME = "shelf.example.com"
PROTECTION = ("claim-protection", "volume-protection")
SELECTED_NODE = "volume.kubernetes.io/selected-node"
GUARD = "plimsoll.dev/provisioning"
BEGUN, ENOUGH = timedelta(seconds=2), timedelta(minutes=3)
WAIT = timedelta(seconds=30)
MOST_CUTS = 40


@dataclass
class Shelf(Provisioner):
    """Assets by their names, each in the zone of its node; tells of each effect."""

    assets: dict[str, str] = field(default_factory=dict)
    """Zone by name."""
    made: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    moods: list[ProvisionerError | None] = field(default_factory=list)
    """What calls to provision raise after they had their effect."""
    refusals: list[ProvisionerError | None] = field(default_factory=list)
    """What they raise before."""
    deletion_moods: list[ProvisionerError | None] = field(default_factory=list)
    on_effect: Callable[[], None] = lambda: None
    name: str = NAME

    @property
    def effects(self) -> int:
        return len(self.made) + len(self.deleted)

    async def provision(self, request: ProvisionRequest) -> MadeVolume:
        await reach_out()
        _raise_next(self.refusals)
        node = request.selected_node
        zone = node.labels[ZONE] if node else "anywhere"
        if request.volume_name not in self.assets:
            self.assets[request.volume_name] = zone
            self.made.append(request.volume_name)
            self.on_effect()
        await reach_out()
        _raise_next(self.moods)
        return MadeVolume(
            source={"nfs": {"server": "shelf", "path": f"/{request.volume_name}"}},
            reachable_from={ZONE: (self.assets[request.volume_name],)} if node else {},
        )

    async def delete(self, request: DeleteRequest) -> None:
        await reach_out()
        _raise_next(self.deletion_moods)
        if self.assets.pop(request.volume_name, None) is not None:
            self.deleted.append(request.volume_name)
            self.on_effect()
        await reach_out()


def _raise_next(moods: list[ProvisionerError | None]) -> None:
    mood = moods.pop(0) if moods else None
    if mood is not None:
        raise mood


NO_ANSWER = ProvisionerError(Trouble.TRY_AGAIN, "no answer")
NO_ROOM = ProvisionerError(Trouble.WRONG_NODE, "no room there")


async def intents(cluster: StoryCluster) -> list[Intent]:
    read = [read_intent(lease) for lease in await cluster.all("Lease")]
    return [intent for intent in read if intent is not None]


async def states(cluster: StoryCluster) -> list[str]:
    return [intent.state for intent in await intents(cluster)]


async def start(cluster: StoryCluster, shelf: Shelf, **life: object) -> Controller:
    return await cluster.start(*PROTECTION, more=binding(shelf), **life)


async def start_next(cluster: StoryCluster, shelf: Shelf, **life: object) -> Controller:
    await cluster.kill_controllers()
    shelf.on_effect = lambda: None
    return await start(cluster, shelf, **life)


async def uid_of(cluster: StoryCluster, name: str = "data") -> str:
    uid: str = (await cluster.get("PersistentVolumeClaim", name))["metadata"]["uid"]
    return uid


async def killed_while_it_is_made(cluster: StoryCluster, shelf: Shelf, **life: object) -> None:
    """The asset is there; the controller never gets to know."""

    def cut_off() -> None:
        cluster.controllers[0].cut_off()

    await cluster.create(a_class(NAME), claim())
    shelf.on_effect = cut_off
    await start(cluster, shelf, **life)
    await cluster.wait(BEGUN)
    assert (len(shelf.assets), await states(cluster)) == (1, ["Calling"])


async def is_bound(cluster: StoryCluster, name: str = "data") -> bool:
    found = await cluster.get("PersistentVolumeClaim", name)
    return bool(found["status"]["phase"] == "Bound")


async def add_zones(cluster: StoryCluster) -> None:
    for zone in "ab":
        await cluster.add_node(f"node-{zone}", **{ZONE.replace(".", "_"): zone})


async def select(cluster: StoryCluster, node: str | None) -> None:
    annotations = {"annotations": {SELECTED_NODE: node}}
    await cluster.patch("PersistentVolumeClaim", "data", {"metadata": annotations})


async def test_an_asset_whose_claim_is_deleted_while_no_controller_runs_is_given_back() -> None:
    shelf = Shelf()
    async with a_cluster() as cluster:
        await killed_while_it_is_made(cluster, shelf)
        await cluster.kill_controllers()
        await cluster.patch("PersistentVolumeClaim", "data", {"metadata": {"finalizers": None}})
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.delete("StorageClass", "fast")
        assert await cluster.find("PersistentVolumeClaim", "data") is None
        await start_next(cluster, shelf)
        await cluster.wait(ENOUGH)
        assert (shelf.assets, await states(cluster)) == ({}, [])
        assert await cluster.names("PersistentVolume") == []


async def test_a_claim_that_is_still_there_gets_the_asset_that_was_made_for_it() -> None:
    shelf = Shelf()
    async with a_cluster() as cluster:
        await killed_while_it_is_made(cluster, shelf)
        await start_next(cluster, shelf)
        await cluster.wait(ENOUGH)
        assert await is_bound(cluster)
        assert shelf.made == await cluster.names("PersistentVolume")
        assert (shelf.deleted, await states(cluster)) == ([], [])


async def test_a_new_controller_waits_until_calls_of_the_old_one_have_ended() -> None:
    shelf = Shelf()
    async with a_cluster() as cluster:
        await killed_while_it_is_made(cluster, shelf)
        await cluster.kill_controllers()
        await cluster.patch("PersistentVolumeClaim", "data", {"metadata": {"finalizers": None}})
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.create(claim("other"))
        await start_next(cluster, shelf)
        await cluster.wait(WAIT - timedelta(seconds=1))
        assert shelf.deleted == []
        assert await is_bound(cluster, "other"), "other claims do not wait"
        await cluster.wait(timedelta(seconds=3))
        assert len(shelf.deleted) == 1


async def test_an_intent_that_an_earlier_controller_stores_too_late_is_settled_all_the_same() -> (
    None
):
    """It stood still between the check of its lease and the write."""
    shelf = Shelf()
    async with a_cluster() as cluster:
        await killed_while_it_is_made(cluster, shelf)
        await cluster.kill_controllers()
        stored = [lease for lease in await cluster.all("Lease") if read_intent(lease)]
        for lease in stored:
            await cluster.delete("Lease", lease["metadata"]["name"], "kube-system")
        await cluster.patch("PersistentVolumeClaim", "data", {"metadata": {"finalizers": None}})
        await cluster.delete("PersistentVolumeClaim", "data")
        await start_next(cluster, shelf)
        await cluster.wait(BEGUN)
        await cluster.create(*(as_new(lease) for lease in stored))
        await cluster.wait(2 * STRAYS_EVERY + WAIT + BEGUN)
        assert (shelf.assets, await states(cluster)) == ({}, [])


async def test_an_intent_that_is_stored_too_late_is_settled_beside_what_comes_next() -> None:
    shelf = Shelf()
    async with a_cluster() as cluster:
        await killed_while_it_is_made(cluster, shelf)
        await cluster.kill_controllers()
        [lease] = [lease for lease in await cluster.all("Lease") if read_intent(lease)]
        [first] = await intents(cluster)
        await cluster.delete("Lease", first.name, "kube-system")
        later = StoredIntent(intent=msgspec.structs.replace(first, number=1))
        await cluster.create(lease_document(later, "kube-system"))
        shelf.moods = [NO_ANSWER] * 1000
        await start_next(cluster, shelf)
        await cluster.create(as_new(lease))
        await cluster.wait(2 * STRAYS_EVERY)
        shelf.moods = []
        await cluster.wait(ENOUGH)
        name = f"pvc-{await uid_of(cluster)}"
        assert await is_bound(cluster)
        assert (list(shelf.assets), await states(cluster)) == ([f"{name}-1"], [])


def as_new(lease: Document) -> Document:
    metadata = lease["metadata"]
    kept = {key: metadata[key] for key in ("name", "namespace", "labels", "annotations")}
    named = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    return {**named, **lease, "metadata": kept}


@dataclass(frozen=True)
class CutAfter:
    writes: int | None = None
    effects: int | None = None


async def cut_and_deleted(cut: CutAfter, *, nodes: bool) -> bool:
    """Whether it came to the cut at all. The claim's owner deletes it while no controller runs."""
    shelf = Shelf()
    async with a_cluster() as cluster:
        await add_zones(cluster)
        await cluster.create(a_class(NAME, waits=nodes), claim())
        if nodes:
            await select(cluster, "node-a")

        def on_effect() -> None:
            if shelf.effects == cut.effects:
                cluster.controllers[0].cut_off()

        shelf.on_effect = on_effect
        shelf.moods = [NO_ANSWER] if nodes else []
        first = await start(cluster, shelf, cut_after=cut.writes)
        if nodes:
            await cluster.wait(timedelta(milliseconds=200))
            await select(cluster, "node-b")
        await cluster.wait(BEGUN)
        was_cut = first.is_cut_off
        await cluster.kill_controllers()
        await cluster.patch("PersistentVolumeClaim", "data", {"metadata": {"finalizers": None}})
        await cluster.delete("PersistentVolumeClaim", "data")
        await start_next(cluster, shelf)
        await cluster.wait(ENOUGH)
        assert shelf.assets == {}, cut
        assert await states(cluster) == [], cut
        assert await cluster.names("PersistentVolume") == [], cut
        assert len(set(shelf.made)) == len(shelf.made), f"{cut}: a name was used twice"
        return was_cut


@pytest.mark.parametrize("nodes", [False, True], ids=["at-once", "moved-to-another-node"])
async def test_cut_off_after_any_write_a_deleted_claim_leaves_nothing(*, nodes: bool) -> None:
    for number in range(1, MOST_CUTS):
        if not await cut_and_deleted(CutAfter(writes=number), nodes=nodes):
            assert number > 4, "the intent, the volume and the events are writes"
            return
    pytest.fail("it never came to an end of its writes")


@pytest.mark.parametrize("nodes", [False, True], ids=["at-once", "moved-to-another-node"])
async def test_cut_off_after_any_call_a_deleted_claim_leaves_nothing(*, nodes: bool) -> None:
    reached = [await cut_and_deleted(CutAfter(effects=n), nodes=nodes) for n in range(1, 5)]
    assert sum(reached) == (3 if nodes else 1), "made, and where it moved: deleted, made"


async def test_cut_off_after_any_write_a_claim_that_stays_gets_one_asset() -> None:
    for number in range(1, MOST_CUTS):
        shelf = Shelf()
        async with a_cluster() as cluster:
            await cluster.create(a_class(NAME), claim())
            first = await start(cluster, shelf, cut_after=number)
            await cluster.wait(BEGUN)
            was_cut = first.is_cut_off
            await start_next(cluster, shelf)
            await cluster.wait(ENOUGH)
            assert await is_bound(cluster), number
            assert shelf.made == await cluster.names("PersistentVolume"), number
            assert (shelf.deleted, await states(cluster)) == ([], []), number
        if not was_cut:
            return
    pytest.fail("it never came to an end of its writes")


async def test_an_asset_made_for_a_node_that_is_not_selected_any_more_is_made_anew() -> None:
    """Under another name: a deletion that arrives late meets only what it was meant for."""
    shelf = Shelf()
    async with a_cluster() as cluster:
        await add_zones(cluster)
        await cluster.create(a_class(NAME, waits=True), claim())
        await select(cluster, "node-a")
        shelf.moods = [NO_ANSWER]
        await start(cluster, shelf)
        await cluster.wait(timedelta(milliseconds=200))
        await select(cluster, "node-b")
        await cluster.wait(ENOUGH)
        name = f"pvc-{await uid_of(cluster)}"
        assert shelf.assets == {f"{name}-1": "b"}
        assert (shelf.deleted, await states(cluster)) == ([name], [])
        assert await cluster.names("PersistentVolume") == [name]
        assert "SelectedNodeChanged" in dict(await cluster.events("data"))
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(ENOUGH)
        assert shelf.assets == {}, "a recorded volume is deleted by the name of its asset"


@dataclass
class SlowShelf(Shelf):
    """Something happens while it makes the first asset."""

    meanwhile: Callable[[], object] = lambda: None

    async def provision(self, request: ProvisionRequest) -> MadeVolume:
        made = await super().provision(request)
        happens, self.meanwhile = self.meanwhile, lambda: None
        result = happens()
        if hasattr(result, "__await__"):
            await result
        return made


async def test_the_claim_is_read_again_before_its_volume_is_recorded() -> None:
    shelf = SlowShelf()
    async with a_cluster() as cluster:
        await add_zones(cluster)
        await cluster.create(a_class(NAME, waits=True), claim())
        await select(cluster, "node-a")
        shelf.meanwhile = lambda: select(cluster, "node-b")
        await start(cluster, shelf)
        await cluster.wait(ENOUGH)
        (made,) = await cluster.all("PersistentVolume")
        assert list(shelf.assets.values()) == ["b"]
        assert shelf.assets.keys() == {made["spec"]["nfs"]["path"].strip("/")}


async def test_an_asset_that_the_newly_selected_node_reaches_is_kept() -> None:
    shelf = SlowShelf()
    async with a_cluster() as cluster:
        await add_zones(cluster)
        await cluster.add_node("node-a2", **{ZONE.replace(".", "_"): "a"})
        await cluster.create(a_class(NAME, waits=True), claim())
        await select(cluster, "node-a")
        shelf.meanwhile = lambda: select(cluster, "node-a2")
        await start(cluster, shelf)
        await cluster.wait(ENOUGH)
        assert await is_bound(cluster)
        assert (shelf.made, shelf.deleted) == (await cluster.names("PersistentVolume"), [])


async def test_a_claim_deleted_while_its_asset_is_made_leaves_nothing() -> None:
    shelf = SlowShelf()
    async with a_cluster() as cluster:
        await cluster.create(a_class(NAME), claim())
        shelf.meanwhile = lambda: cluster.delete("PersistentVolumeClaim", "data")
        await start(cluster, shelf)
        await cluster.wait(BEGUN)
        assert (shelf.assets, await states(cluster)) == ({}, [])
        assert await cluster.names("PersistentVolume") == []


async def test_a_name_is_not_used_again_after_a_refusal_on_the_next_node() -> None:
    shelf = Shelf()
    async with a_cluster() as cluster:
        await add_zones(cluster)
        await cluster.create(a_class(NAME, waits=True), claim())
        await select(cluster, "node-a")
        shelf.moods, shelf.refusals = [NO_ANSWER], [None, NO_ROOM]
        await start(cluster, shelf)
        await cluster.wait(timedelta(milliseconds=200))
        await select(cluster, "node-b")
        await cluster.wait(timedelta(seconds=20))
        found = await cluster.get("PersistentVolumeClaim", "data")
        assert SELECTED_NODE not in found["metadata"]["annotations"], "it was refused"
        await select(cluster, "node-a")
        await cluster.wait(ENOUGH)
        assert await is_bound(cluster)
        assert len(set(shelf.made)) == len(shelf.made) == 2


async def test_a_claim_made_anew_under_the_same_name_does_not_wait_for_the_old_one() -> None:
    shelf = Shelf()
    async with a_cluster() as cluster:
        await killed_while_it_is_made(cluster, shelf)
        await cluster.kill_controllers()
        await cluster.patch("PersistentVolumeClaim", "data", {"metadata": {"finalizers": None}})
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.create(claim())
        await start_next(cluster, shelf)
        await cluster.wait(BEGUN)
        assert await is_bound(cluster)
        await cluster.wait(ENOUGH)
        assert list(shelf.assets) == [f"pvc-{await uid_of(cluster)}"]
        assert await states(cluster) == []


async def test_no_finalizer_is_put_on_claims_while_their_assets_are_made() -> None:
    shelf = Shelf(moods=[NO_ANSWER] * 50)
    async with a_cluster() as cluster:
        await cluster.create(a_class(NAME), claim())
        await start(cluster, shelf)
        await cluster.wait(BEGUN)
        found = await cluster.get("PersistentVolumeClaim", "data")
        assert GUARD not in found["metadata"]["finalizers"]
        assert await states(cluster) == ["Calling"]


def guarded() -> Document:
    """As a controller of an earlier version left it."""
    document = claim(annotations={"volume.kubernetes.io/storage-provisioner": NAME})
    document["metadata"]["finalizers"] = ["kubernetes.io/pvc-protection", GUARD]
    return document


async def test_a_claim_with_the_finalizer_of_an_earlier_version_gets_its_asset_and_loses_it() -> (
    None
):
    shelf = Shelf()
    async with a_cluster() as cluster:
        await cluster.create(a_class(NAME), guarded())
        shelf.assets[f"pvc-{await uid_of(cluster)}"] = "anywhere"
        await start(cluster, shelf)
        await cluster.wait(ENOUGH)
        assert await is_bound(cluster)
        found = await cluster.get("PersistentVolumeClaim", "data")
        assert GUARD not in found["metadata"]["finalizers"]
        assert (shelf.made, shelf.deleted) == ([], [])


async def test_a_deleted_claim_with_the_finalizer_of_an_earlier_version_leaves_nothing() -> None:
    shelf = Shelf()
    async with a_cluster() as cluster:
        await cluster.create(a_class(NAME), guarded())
        shelf.assets[f"pvc-{await uid_of(cluster)}"] = "anywhere"
        await cluster.delete("PersistentVolumeClaim", "data")
        assert await cluster.find("PersistentVolumeClaim", "data") is not None
        await start(cluster, shelf)
        await cluster.wait(ENOUGH)
        assert await cluster.find("PersistentVolumeClaim", "data") is None
        assert shelf.assets == {}


async def test_an_asset_for_which_a_volume_was_made_by_hand_is_kept() -> None:
    shelf = Shelf()
    async with a_cluster() as cluster:
        await killed_while_it_is_made(cluster, shelf)
        await cluster.kill_controllers()
        (name,) = shelf.assets
        by_hand = volume("by-hand", spec={"nfs": {"server": "shelf", "path": f"/{name}"}})
        del by_hand["spec"]["csi"]
        await cluster.create(by_hand)
        await cluster.patch("PersistentVolumeClaim", "data", {"metadata": {"finalizers": None}})
        await cluster.delete("PersistentVolumeClaim", "data")
        await start_next(cluster, shelf)
        await cluster.wait(ENOUGH)
        assert (list(shelf.assets), await states(cluster)) == ([name], [])


async def test_what_a_provisioner_left_that_is_not_installed_any_more_is_told_of() -> None:
    shelf, other = Shelf(), Shelf(name="another.example.com")
    async with a_cluster() as cluster:
        await killed_while_it_is_made(cluster, shelf)
        await start_next(cluster, other)
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(ENOUGH)
        told = [message for _, message in await cluster.events("data")]
        assert any("no such provisioner is part of this controller" in each for each in told)
        assert await states(cluster) == ["Undoing"]
        await start_next(cluster, shelf)
        await cluster.wait(ENOUGH)
        assert (shelf.assets, await states(cluster)) == ({}, [])


async def test_a_lease_that_an_administrator_deletes_ends_the_matter() -> None:
    broken = ProvisionerError(Trouble.TRY_AGAIN, "the shelf fell down")
    shelf = SlowShelf(deletion_moods=[broken] * 1000)
    async with a_cluster() as cluster:
        await cluster.create(a_class(NAME), claim())
        shelf.meanwhile = lambda: cluster.delete("PersistentVolumeClaim", "data")
        await start(cluster, shelf)
        await cluster.wait(timedelta(minutes=5))
        told = dict(await cluster.events("data"))["ProvisioningCleanupFailed"]
        assert "the shelf fell down" in told
        (left,) = await intents(cluster)
        assert left.name in told
        await cluster.delete("Lease", left.name, "kube-system")
        await cluster.wait(timedelta(minutes=5))
        tried = len(shelf.deletion_moods)
        await cluster.wait(timedelta(minutes=10))
        assert len(shelf.deletion_moods) == tried, "it is not tried any more"


async def test_where_leases_are_forbidden_the_controller_remembers_while_it_runs() -> None:
    shelf = Shelf(moods=[NO_ANSWER] * 3)
    async with a_cluster() as cluster:
        await cluster.create(a_class(NAME), claim(), claim("other"))
        await start(cluster, shelf, rule=forbidden("leases"))
        await cluster.wait(timedelta(milliseconds=100))
        await cluster.delete("PersistentVolumeClaim", "other")
        await cluster.wait(ENOUGH)
        assert await is_bound(cluster)
        assert list(shelf.assets) == await cluster.names("PersistentVolume")
        assert await states(cluster) == []


def a_leader(cluster: StoryCluster, transitions: int, *, own_since: int) -> Fence:
    fence = Fence(cluster.clock)
    created_at = datetime.fromisoformat("2024-01-01T00:00:00Z")
    lease = "kube-system/plimsoll-controller"
    fence.extend(
        1e9, LeaderEpoch(lease=lease, lease_created_at=created_at, transitions=transitions)
    )
    fence.own_since = own_since
    return fence


@pytest.mark.parametrize("own_since", [2, 7], ids=["a-copy-of-ours", "another-program"])
async def test_what_another_program_may_have_recorded_and_forgotten_is_kept_and_told_of(
    *, own_since: int
) -> None:
    """A controller of a version without intents led, published the volume and forgot it again."""
    shelf = Shelf()
    async with a_cluster() as cluster:
        await killed_while_it_is_made(cluster, shelf, fence=a_leader(cluster, 5, own_since=2))
        await cluster.kill_controllers()
        await cluster.patch("PersistentVolumeClaim", "data", {"metadata": {"finalizers": None}})
        await cluster.delete("PersistentVolumeClaim", "data")
        await start_next(cluster, shelf, fence=a_leader(cluster, 8, own_since=own_since))
        await cluster.wait(ENOUGH)
        told = [message for _, message in await cluster.events("data")]
        is_told = any("is kept all the same" in message for message in told)
        seen = (len(shelf.assets), await states(cluster), is_told)
        assert seen == ((0, [], False) if own_since < 5 else (1, ["Suspect"], True))


async def moved_after_another_program_led(cluster: StoryCluster, shelf: Shelf) -> Controller:
    """The asset was made for another node than the one that is selected now."""

    def cut_off() -> None:
        cluster.controllers[0].cut_off()

    await add_zones(cluster)
    await cluster.create(a_class(NAME, waits=True), claim())
    await select(cluster, "node-a")
    shelf.on_effect = cut_off
    await start(cluster, shelf, fence=a_leader(cluster, 5, own_since=2))
    await cluster.wait(BEGUN)
    await cluster.kill_controllers()
    await select(cluster, "node-b")
    return await start_next(cluster, shelf, fence=a_leader(cluster, 8, own_since=7))


async def test_the_claim_of_an_asset_that_is_kept_in_doubt_gets_another_one() -> None:
    shelf = Shelf()
    async with a_cluster() as cluster:
        await moved_after_another_program_led(cluster, shelf)
        await cluster.wait(ENOUGH)
        name = f"pvc-{await uid_of(cluster)}"
        assert await is_bound(cluster)
        assert shelf.assets == {name: "a", f"{name}-1": "b"}
        assert await numbered_states(cluster) == [(0, "Suspect")]
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(ENOUGH)
        assert shelf.assets == {name: "a"}, "only what is in doubt is kept"


async def test_the_next_controller_leaves_the_asset_in_doubt_and_its_number_alone() -> None:
    """The one before it was killed while it made the asset that comes after."""
    shelf = Shelf()
    async with a_cluster() as cluster:
        await moved_after_another_program_led(cluster, shelf)
        shelf.moods = [NO_ANSWER] * 1000
        await cluster.wait(ENOUGH)
        assert await numbered_states(cluster) == [(0, "Suspect"), (1, "Calling")]
        shelf.moods = []
        await start_next(cluster, shelf, fence=a_leader(cluster, 9, own_since=7))
        await cluster.wait(ENOUGH)
        name = f"pvc-{await uid_of(cluster)}"
        assert await is_bound(cluster)
        assert shelf.assets == {name: "a", f"{name}-1": "b"}
        assert await numbered_states(cluster) == [(0, "Suspect")]


async def test_deleting_the_lease_of_an_asset_in_doubt_ends_it() -> None:
    shelf = Shelf()
    async with a_cluster() as cluster:
        running = await moved_after_another_program_led(cluster, shelf)
        await cluster.wait(ENOUGH)
        assert open_intents(running) == 1
        (left,) = await intents(cluster)
        await cluster.delete("Lease", left.name, "kube-system")
        await cluster.wait(2 * STRAYS_EVERY)
        assert (open_intents(running), await states(cluster)) == (0, [])


async def numbered_states(cluster: StoryCluster) -> list[tuple[int, str]]:
    return sorted((intent.number, str(intent.state)) for intent in await intents(cluster))


async def test_a_volume_costs_two_writes_of_leases_and_its_gauge_tells_of_open_ones() -> None:
    shelf = Shelf(moods=[NO_ANSWER] * 3)
    async with a_cluster() as cluster:
        await cluster.create(a_class(NAME), claim())
        running = await start(cluster, shelf)
        await cluster.wait(timedelta(milliseconds=200))
        assert open_intents(running) == 1
        await cluster.wait(ENOUGH)
        assert open_intents(running) == 0
        leases = [verb for verb, what in running.passed if what == "leases" and verb != "list"]
        said = "create"
        assert leases == [said, "create", "delete"], "it says once that it respects holds"


def open_intents(controller: Controller) -> float | None:
    registry = controller.tools.metrics.registry
    return registry.get_sample_value("plimsoll_controller_intents_open")
