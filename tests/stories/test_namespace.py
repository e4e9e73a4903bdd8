"""A namespace goes when everything in it is gone."""

from datetime import timedelta

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.objects import claim, config_map, namespace, pod, uses

GRACE_OVER = timedelta(seconds=10)


def within(document: Document, name: str = "old") -> Document:
    return document | {"metadata": document["metadata"] | {"namespace": name}}


async def conditions(cluster: StoryCluster, name: str = "old") -> dict[str, str]:
    found = await cluster.get("Namespace", name)
    return {c["type"]: c["message"] for c in found["status"].get("conditions", ())}


async def test_everything_in_a_deleted_namespace_goes_and_nothing_elsewhere() -> None:
    async with a_cluster("namespace", "claim-protection") as cluster:
        await cluster.create(namespace("old"), namespace("other"))
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "lock", "namespace": "old"},
        }
        await cluster.create(lease, *(within(d) for d in (claim(), config_map("a"), pod())))
        await cluster.create(within(config_map("b"), "other"))
        await cluster.delete("Namespace", "old")
        await cluster.wait(GRACE_OVER)
        assert await cluster.find("Namespace", "old") is None
        for kind in ("PersistentVolumeClaim", "Pod", "Lease"):
            assert await cluster.all(kind) == []
        assert await cluster.names("ConfigMap") == ["b"]


async def test_pods_end_before_what_they_use_is_deleted() -> None:
    async with a_cluster("namespace") as cluster:
        await cluster.create(namespace("old"), within(config_map("settings")))
        await cluster.create(within(pod(volumes=[uses("data")], node="node-1")))
        await cluster.delete("Namespace", "old")
        await cluster.wait(GRACE_OVER)
        assert await cluster.find("ConfigMap", "settings", "old") is not None
        told = await conditions(cluster)
        assert told["NamespaceContentRemaining"] == (
            "Some resources are remaining: pods. has 1 resource instances"
        )

        await cluster.delete("Pod", "web", "old", grace=0)
        await cluster.wait(timedelta(seconds=20))
        assert await cluster.find("Namespace", "old") is None


async def test_a_finalizer_holds_the_namespace_and_is_named() -> None:
    async with a_cluster("namespace") as cluster:
        held = within(config_map("a", finalizers=["example.com/hold"]))
        await cluster.create(namespace("old"), held)
        await cluster.delete("Namespace", "old")
        await cluster.wait(GRACE_OVER)
        told = await conditions(cluster)
        assert told["NamespaceFinalizersRemaining"] == (
            "Some content in the namespace has finalizers remaining: "
            "example.com/hold in 1 resource instances"
        )

        patch = {"metadata": {"finalizers": None}}
        await cluster.patch("ConfigMap", "a", patch, namespace="old")
        await cluster.wait(timedelta(seconds=10))
        assert await cluster.find("Namespace", "old") is None


async def test_a_namespace_that_is_not_deleted_is_left_alone() -> None:
    async with a_cluster() as cluster:
        await cluster.create(namespace("new"), within(config_map("a"), "new"))
        controller = await cluster.start("namespace")
        await cluster.wait(GRACE_OVER)
        assert controller.writes == 0


async def test_a_controller_cut_off_at_any_write_still_lets_the_namespace_go() -> None:
    async def arrange(cluster: StoryCluster) -> None:
        await cluster.create(namespace("old"), within(config_map("a")), within(claim()))
        await cluster.delete("Namespace", "old")

    async def look(cluster: StoryCluster) -> tuple[list[str], list[str]]:
        return await cluster.names("ConfigMap"), await cluster.names("Namespace")

    loops = ("namespace", "claim-protection")
    left, namespaces = await assert_same_end(CrashScenario(loops=loops, arrange=arrange, look=look))
    assert left == []
    assert "old" not in namespaces
