"""Objects go with their owners, before them, or stay without them, as asked for."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document, resources_by_path
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.objects import config_map, namespace, pod
from plimsoll.wire.kind import documents
from plimsoll.wire.parameters import Deletion

CONFIG_MAPS = documents(resources_by_path()["", "v1", "configmaps"])
GC = "garbage-collector"


async def reference(cluster: StoryCluster, kind: str, name: str, **more: Any) -> Document:
    owner = await cluster.get(kind, name)
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name,
        "uid": owner["metadata"]["uid"],
    } | more


async def create_owned(
    cluster: StoryCluster, name: str, *owners: str, block: bool = True, **metadata: Any
) -> None:
    refs = [
        await reference(cluster, "ConfigMap", owner, blockOwnerDeletion=block) for owner in owners
    ]
    await cluster.create(config_map(name, ownerReferences=refs, **metadata))


async def delete(cluster: StoryCluster, name: str, propagation: str = "Background") -> None:
    deletion = Deletion(propagation=propagation)
    await cluster.client.delete(CONFIG_MAPS, ObjectKey("default", name), deletion)


async def a_family(cluster: StoryCluster) -> None:
    """A grandparent, two children, one grandchild, and an unrelated object."""
    await cluster.create(config_map("owner"), config_map("stranger"))
    await create_owned(cluster, "child-1", "owner")
    await create_owned(cluster, "child-2", "owner")
    await create_owned(cluster, "grandchild", "child-1")


async def test_dependents_of_dependents_go_after_their_owner() -> None:
    async with a_cluster(GC) as cluster:
        await a_family(cluster)
        await cluster.settle()
        assert len(await cluster.names("ConfigMap")) == 5
        await delete(cluster, "owner")
        await cluster.settle()
        assert await cluster.names("ConfigMap") == ["stranger"]


async def test_in_the_foreground_the_owner_goes_last() -> None:
    async with a_cluster(GC) as cluster:
        await a_family(cluster)
        patch = {"metadata": {"finalizers": ["example.com/hold"]}}
        await cluster.patch("ConfigMap", "grandchild", patch)
        await cluster.settle()
        await delete(cluster, "owner", "Foreground")
        await cluster.settle()
        assert await cluster.names("ConfigMap") == ["child-1", "grandchild", "owner", "stranger"]

        await cluster.patch("ConfigMap", "grandchild", {"metadata": {"finalizers": None}})
        await cluster.settle()
        assert await cluster.names("ConfigMap") == ["stranger"]


async def test_an_owner_does_not_wait_for_dependents_that_do_not_block_it() -> None:
    async with a_cluster(GC) as cluster:
        await cluster.create(config_map("owner"))
        await create_owned(cluster, "child", "owner", block=False, finalizers=["example.com/hold"])
        await cluster.settle()
        await delete(cluster, "owner", "Foreground")
        await cluster.settle()
        assert await cluster.names("ConfigMap") == ["child"]
        child = await cluster.get("ConfigMap", "child")
        assert "deletionTimestamp" in child["metadata"]


async def test_orphans_stay_and_forget_their_owner() -> None:
    async with a_cluster(GC) as cluster:
        await a_family(cluster)
        await cluster.settle()
        await delete(cluster, "owner", "Orphan")
        await cluster.settle()
        names = await cluster.names("ConfigMap")
        assert names == ["child-1", "child-2", "grandchild", "stranger"]
        child = await cluster.get("ConfigMap", "child-1")
        assert "ownerReferences" not in child["metadata"]
        grandchild = await cluster.get("ConfigMap", "grandchild")
        assert grandchild["metadata"]["ownerReferences"][0]["name"] == "child-1"


async def test_an_object_stays_as_long_as_one_owner_is_left() -> None:
    async with a_cluster(GC) as cluster:
        await cluster.create(config_map("a"), config_map("b"))
        await create_owned(cluster, "child", "a", "b")
        await cluster.settle()
        await delete(cluster, "a")
        await cluster.settle()
        child = await cluster.get("ConfigMap", "child")
        assert [ref["name"] for ref in child["metadata"]["ownerReferences"]] == ["b"]

        await delete(cluster, "b")
        await cluster.settle()
        assert await cluster.names("ConfigMap") == []


async def test_an_owner_that_never_was_is_as_good_as_gone() -> None:
    ghost = {"apiVersion": "v1", "kind": "Secret", "name": "ghost", "uid": "no-such-uid"}
    async with a_cluster(GC) as cluster:
        await cluster.create(config_map("child", ownerReferences=[ghost]))
        await cluster.settle()
        assert await cluster.names("ConfigMap") == []


async def test_a_namesake_of_the_owner_is_not_the_owner() -> None:
    async with a_cluster() as cluster:
        await cluster.create(config_map("owner"))
        await create_owned(cluster, "child", "owner")
        await delete(cluster, "owner")
        await cluster.create(config_map("owner"))
        await cluster.start(GC)
        await cluster.settle()
        assert await cluster.names("ConfigMap") == ["owner"]


async def test_objects_in_a_namespace_may_belong_to_a_node() -> None:
    async with a_cluster(GC) as cluster:
        await cluster.add_node("node-1")
        owner = await reference(cluster, "Node", "node-1")
        await cluster.create(config_map("child", ownerReferences=[owner]))
        await cluster.settle()
        assert await cluster.names("ConfigMap") == ["child"]
        await cluster.delete("Node", "node-1")
        await cluster.settle()
        assert await cluster.names("ConfigMap") == []


async def test_an_owner_in_another_namespace_is_none_and_the_event_says_so() -> None:
    async with a_cluster(GC) as cluster:
        await cluster.create(namespace("other"), config_map("owner"))
        await cluster.settle()
        owner = await reference(cluster, "ConfigMap", "owner")
        child = config_map("child", ownerReferences=[owner], namespace="other")
        await cluster.create(child)
        await cluster.settle()
        assert await cluster.names("ConfigMap") == ["owner"]
        ((reason, message),) = await cluster.events("child")
        assert reason == "OwnerRefInvalidNamespace"
        assert message == (
            f"ownerRef [v1/ConfigMap, namespace: other, name: owner, uid: {owner['uid']}] "
            'does not exist in namespace "other"'
        )


async def test_a_kind_that_no_server_has_costs_nothing() -> None:
    owner = {"apiVersion": "unknown.io/v1", "kind": "Thing", "name": "x", "uid": "u"}
    async with a_cluster(GC) as cluster:
        await cluster.create(config_map("child", ownerReferences=[owner]))
        await cluster.wait(timedelta(minutes=2))
        assert await cluster.names("ConfigMap") == ["child"]


async def test_two_that_own_each_other_go_when_one_is_deleted_in_the_foreground() -> None:
    async with a_cluster(GC) as cluster:
        await cluster.create(config_map("a"))
        await create_owned(cluster, "b", "a")
        back = await reference(cluster, "ConfigMap", "b", blockOwnerDeletion=True)
        await cluster.patch("ConfigMap", "a", {"metadata": {"ownerReferences": [back]}})
        await cluster.settle()
        await delete(cluster, "a", "Foreground")
        await cluster.settle()
        assert await cluster.names("ConfigMap") == []


async def test_nothing_is_written_where_every_object_has_its_owner() -> None:
    async with a_cluster() as cluster:
        await a_family(cluster)
        controller = await cluster.start(GC)
        await cluster.wait(timedelta(minutes=2))
        assert controller.writes == 0


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
async def test_a_controller_cut_off_at_any_write_comes_to_the_same_end(propagation: str) -> None:
    async def arrange(cluster: StoryCluster) -> None:
        await a_family(cluster)
        await delete(cluster, "owner", propagation)

    async def look(cluster: StoryCluster) -> list[str]:
        return await cluster.names("ConfigMap")

    end = await assert_same_end(CrashScenario(loops=(GC,), arrange=arrange, look=look))
    kept = ["child-1", "child-2", "grandchild"] if propagation == "Orphan" else []
    assert end == [*kept, "stranger"]


async def test_a_kind_that_other_loops_observe_is_watched_once() -> None:
    async with a_cluster(GC, "pod-gc", "statefulset") as cluster:
        await cluster.settle()
        watches = cluster.server.cluster.hub.number_by_collection()
        assert {watches[name] for name in ("pods", "nodes", "statefulsets.apps")} == {1}
        assert watches["configmaps"] == 1


async def test_objects_that_other_loops_observe_go_with_their_owner() -> None:
    async with a_cluster(GC, "pod-gc") as cluster:
        await cluster.create(config_map("owner"))
        owner = await reference(cluster, "ConfigMap", "owner")
        await cluster.create(pod("child", ownerReferences=[owner]), pod("stranger"))
        await cluster.settle()
        await delete(cluster, "owner")
        await cluster.settle()
        assert await cluster.names("Pod") == ["stranger"]
