"""What a tenant writes blocks no pool, however often it is written again."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.scheduling.reservations.deadlines import UNBEGUN
from plimsoll.simulator.stories.schedulers import (
    SELECTED_NODE,
    a_claim,
    a_pod,
    node_of,
    volume_of,
)
from tests.stories.test_reservations import MOMENT, Scene, forged, our_world

OF_ANOTHER: dict[str, object] = {"schedulerName": "other"}
GATED: dict[str, object] = {"schedulingGates": [{"name": "example.com/never"}]}
ON_A_NODE: dict[str, object] = {"nodeName": "node-a"}
BETWEEN = timedelta(minutes=4)
"""Shorter than any deadline."""


async def select(scene: Scene, node: str | None) -> None:
    told = {"metadata": {"annotations": {SELECTED_NODE: node}}}
    await scene.cluster.patch("PersistentVolumeClaim", "theirs", told)


async def choose_again(scene: Scene, _: dict[str, object]) -> None:
    await select(scene, "node-x")
    await select(scene, "node-a")


async def take_off_and_choose_again(scene: Scene, _: dict[str, object]) -> None:
    await select(scene, None)
    await scene.cluster.settle()
    await select(scene, "node-a")


async def make_the_pod_anew(scene: Scene, spec: dict[str, object]) -> None:
    await scene.cluster.delete("Pod", "theirs", grace=0)
    await scene.cluster.settle()
    await scene.cluster.create(a_pod("theirs", claims=["theirs"], **spec))


RENEWALS = [choose_again, take_off_and_choose_again, make_the_pod_anew]


@pytest.mark.parametrize("spec", [OF_ANOTHER, ON_A_NODE], ids=["of-another-scheduler", "placed"])
@pytest.mark.parametrize("renew", RENEWALS, ids=lambda each: each.__name__)
async def test_no_tenant_can_keep_a_reservation_by_renewing_it(
    renew: Callable[[Scene, dict[str, object]], Awaitable[None]], spec: dict[str, object]
) -> None:
    """No provisioner begins: the forged hold says `undo`."""
    async with our_world("10Gi") as (scene, storage, _):
        await scene.cluster.create(forged(a_claim("theirs", size="6Gi", class_name="fast")))
        await scene.cluster.create(a_pod("theirs", claims=["theirs"], **spec))
        await scene.cluster.settle()
        await scene.start("web", "5Gi")
        await scene.cluster.wait(MOMENT)
        assert "CapacityReserved" in await scene.why("web")
        for _ in range(UNBEGUN // BETWEEN + 1):
            await scene.cluster.wait(BETWEEN)
            await renew(scene, spec)
        await scene.cluster.wait(MOMENT)
        assert await node_of(scene.cluster, "web") == "node-a"
        assert len(storage.names) == 1


@pytest.mark.parametrize("spec", [OF_ANOTHER, {}], ids=["of-another-scheduler", "of-ours"])
async def test_a_claim_that_the_pool_cannot_hold_reserves_nothing(
    spec: dict[str, object],
) -> None:
    async with our_world("10Gi") as (scene, _, _):
        await scene.cluster.create(forged(a_claim("theirs", size="1000Ti", class_name="fast")))
        await scene.cluster.create(a_pod("theirs", claims=["theirs"], **spec))
        await scene.cluster.settle()
        await scene.start("web", "10Gi")
        await scene.cluster.wait(MOMENT)
        assert await node_of(scene.cluster, "web") == "node-a"


async def test_a_gated_pod_reserves_nothing() -> None:
    """Gates are never added to a pod: no scheduler has decided on it."""
    async with our_world("10Gi") as (scene, _, _):
        await scene.cluster.create(forged(a_claim("theirs", size="6Gi", class_name="fast")))
        await scene.cluster.create(a_pod("theirs", claims=["theirs"], **GATED))
        await scene.cluster.settle()
        await scene.start("web", "5Gi")
        await scene.cluster.wait(MOMENT)
        assert await node_of(scene.cluster, "web") == "node-a"


FORGED = pytest.mark.parametrize("names_pod", [False, True], ids=["nobody", "own-pod"])


@FORGED
async def test_a_volume_that_a_tenant_holds_back_for_no_pod_takes_its_room_once(
    *, names_pod: bool
) -> None:
    """It is made, and reports count it in; the intent alone would be charged for ever."""
    async with our_world("10Gi") as (scene, storage, _):
        uid = "nobody"
        if names_pod:
            never = {"nodeSelector": {"kubernetes.io/hostname": "nowhere"}}
            await scene.cluster.create(a_pod("theirs", claims=["theirs"], **never))
            uid = (await scene.cluster.get("Pod", "theirs"))["metadata"]["uid"]
        held = a_claim("theirs", size="4Gi", class_name="fast")
        held["metadata"]["annotations"] = {SELECTED_NODE: "node-a", HOLD: f"{uid}/0/make"}
        await scene.cluster.create(held)
        await scene.cluster.wait(MOMENT)
        assert len(storage.names) == 1
        assert await scene.cluster.names("PersistentVolume") == []
        await scene.start("web", "5Gi")
        await scene.cluster.wait(timedelta(minutes=6))
        assert await node_of(scene.cluster, "web") == "node-a"
        assert await volume_of(scene.cluster, "theirs"), "as by csi-provisioner"


async def test_a_hold_of_another_scheduler_for_a_pod_that_waits_is_left_to_it() -> None:
    """It may keep its groups where this one does not look."""
    async with our_world("10Gi") as (scene, _, _):
        await scene.cluster.create(a_pod("theirs", claims=["theirs"], **OF_ANOTHER))
        uid = (await scene.cluster.get("Pod", "theirs"))["metadata"]["uid"]
        held = a_claim("theirs", size="4Gi", class_name="fast")
        held["metadata"]["annotations"] = {SELECTED_NODE: "node-a", HOLD: f"{uid}/0/make"}
        await scene.cluster.create(held)
        await scene.cluster.wait(timedelta(minutes=10))
        assert await scene.cluster.names("PersistentVolume") == []
