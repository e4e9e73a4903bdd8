"""A class is made anew for another provisioner while the first one is at work for a claim.

Both ask for the volume under the same name, so the volume that the claim gets says nothing of what
the first one has made. csi-provisioner forgets it.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest

from plimsoll.decide.provisioning.intents import read_intent
from plimsoll.processes.controller.in_process.provisioners.protocol import ProvisionerError, Trouble
from plimsoll.processes.driver.backends.pools.faults import FaultyCall, Hang, When
from plimsoll.simulator.stories import provisioners, sidecars
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.provisioners import MOODY, Moody, binding
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    RunningProvisioner,
    StoryStorage,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    zonal_pools,
)

BEGUN, ENOUGH = timedelta(seconds=15), timedelta(minutes=3)
NO_ANSWER = ProvisionerError(Trouble.TRY_AGAIN, "no answer")


@dataclass
class Scene:
    cluster: StoryCluster
    storage: StoryStorage
    moody: Moody
    """The provisioner inside the controller."""

    async def make_class_anew(self, provisioner: str) -> None:
        await self.cluster.delete("StorageClass", "fast")
        await self.cluster.create(provisioners.a_class(provisioner))

    async def maker(self) -> str:
        """Of the volume that the claim is bound to."""
        bound = await self.cluster.get("PersistentVolumeClaim", "data")
        found = await self.cluster.get("PersistentVolume", bound["spec"]["volumeName"])
        maker: str = found["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"]
        return maker

    async def intents(self) -> list[str]:
        read = [read_intent(lease) for lease in await self.cluster.all("Lease")]
        return [intent.state for intent in read if intent is not None]


@asynccontextmanager
async def a_scene() -> AsyncIterator[Scene]:
    moody = Moody()
    async with AsyncExitStack() as stack:
        loops = ("claim-protection", "volume-protection")
        cluster = await stack.enter_async_context(a_cluster(*loops, more=binding(moody)))
        storage = await stack.enter_async_context(a_storage(cluster.clock, zonal_pools("10Gi")))
        await add_storage_nodes(cluster, {"node-a": {"zone": "a"}})
        yield Scene(cluster, storage, moody)


async def test_what_a_driver_has_made_before_its_class_was_made_anew_is_given_back() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage):
        scene.storage.set_faults(Hang(call=FaultyCall.CREATE, seconds=60, when=When.AFTER))
        await scene.cluster.create(sidecars.a_class(waits=False), claim())
        await scene.cluster.wait(BEGUN)
        assert len(scene.storage.ids) == 1
        await scene.make_class_anew(MOODY)
        await scene.cluster.wait(ENOUGH)
        assert await scene.maker() == MOODY
        assert scene.storage.ids == []
        assert await scene.intents() == []


@pytest.mark.parametrize("deletes", [False, True], ids=["claim-stays", "claim-is-deleted"])
async def test_so_it_is_by_the_next_provisioner(*, deletes: bool) -> None:
    async with a_scene() as scene:
        first = RunningProvisioner(scene.cluster, scene.storage)
        scene.storage.on_effect = lambda _: first.cut_off()
        await first.start()
        await scene.cluster.create(sidecars.a_class(waits=False), claim())
        await scene.cluster.wait(ENOUGH)
        await first.kill()
        scene.storage.on_effect = lambda _: None
        assert len(scene.storage.ids) == 1
        await scene.make_class_anew(MOODY)
        await scene.cluster.wait(ENOUGH)
        assert await scene.maker() == MOODY
        assert len(scene.moody.assets) == 1
        if deletes:
            await scene.cluster.delete("PersistentVolumeClaim", "data")
        async with a_provisioner(scene.cluster, scene.storage, seed=2):
            await scene.cluster.wait(ENOUGH)
            assert scene.storage.ids == []
            assert await scene.intents() == []
            assert len(scene.moody.assets) == (0 if deletes else 1)


async def test_what_a_provisioner_inside_the_controller_may_have_made_is_given_back() -> None:
    async with a_scene() as scene, a_provisioner(scene.cluster, scene.storage):
        scene.moody.moods = [NO_ANSWER] * 50
        await scene.cluster.create(provisioners.a_class(MOODY), claim())
        await scene.cluster.wait(BEGUN)
        uid = (await scene.cluster.get("PersistentVolumeClaim", "data"))["metadata"]["uid"]
        scene.moody.assets.add(f"pvc-{uid}")  # the call that got no answer had arrived
        await scene.make_class_anew(DRIVER)
        await scene.cluster.wait(ENOUGH)
        assert await scene.maker() == DRIVER
        assert scene.moody.assets == set()
        assert len(scene.storage.ids) == 1
        assert await scene.intents() == []
