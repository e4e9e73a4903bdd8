"""Every namespace has a default service account for as long as it is in use."""

from datetime import timedelta

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.objects import namespace


async def accounts(cluster: StoryCluster) -> list[str]:
    found: list[Document] = await cluster.all("ServiceAccount")
    return [f"{a['metadata']['namespace']}/{a['metadata']['name']}" for a in found]


async def test_new_and_old_namespaces_get_one_and_a_deleted_one_comes_back() -> None:
    async with a_cluster("service-accounts") as cluster:
        await cluster.settle()
        assert "kube-system/default" in await accounts(cluster)
        await cluster.create(namespace("apps"))
        await cluster.settle()
        assert "apps/default" in await accounts(cluster)
        await cluster.delete("ServiceAccount", "default", "apps")
        await cluster.settle()
        assert "apps/default" in await accounts(cluster)


async def test_a_deleted_namespace_is_not_kept_alive_by_its_account() -> None:
    async with a_cluster("service-accounts", "namespace") as cluster:
        await cluster.create(namespace("apps"))
        await cluster.settle()
        await cluster.delete("Namespace", "apps")
        await cluster.wait(timedelta(seconds=30))
        assert await cluster.find("Namespace", "apps") is None
        assert "apps/default" not in await accounts(cluster)


async def test_a_controller_cut_off_at_any_write_makes_the_others_later() -> None:
    async def arrange(cluster: StoryCluster) -> None:
        await cluster.create(namespace("apps"), namespace("data"))

    scenario = CrashScenario(loops=("service-accounts",), arrange=arrange, look=accounts)
    assert len(await assert_same_end(scenario)) == 6
