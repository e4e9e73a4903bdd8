"""Claims that come and go with a pod."""

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.objects import claim, pod

TEMPLATE: Document = {
    "metadata": {"labels": {"tier": "scratch"}},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "fast",
        "volumeMode": "Block",
    },
}


def scratch(name: str = "scratch") -> Document:
    return {"name": name, "ephemeral": {"volumeClaimTemplate": TEMPLATE}}


async def test_a_pod_gets_a_claim_of_its_own() -> None:
    async with a_cluster("ephemeral-volume") as cluster:
        await cluster.create(pod(volumes=[scratch()]))
        await cluster.settle()
        made = await cluster.get("PersistentVolumeClaim", "web-scratch")
        owner = await cluster.get("Pod", "web")
        assert made["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
        assert made["metadata"]["labels"] == {"tier": "scratch"}
        assert made["spec"]["volumeMode"] == "Block"


async def test_a_claim_that_is_deleted_under_its_pod_comes_back() -> None:
    async with a_cluster("ephemeral-volume", "claim-protection") as cluster:
        await cluster.create(pod(volumes=[scratch()]))
        await cluster.settle()
        first = await cluster.get("PersistentVolumeClaim", "web-scratch")
        await cluster.delete("PersistentVolumeClaim", "web-scratch")
        await cluster.settle()
        second = await cluster.get("PersistentVolumeClaim", "web-scratch")
        assert first["metadata"]["uid"] != second["metadata"]["uid"]


async def test_a_claim_of_that_name_which_is_not_the_pods_is_left_alone() -> None:
    async with a_cluster("ephemeral-volume", "claim-protection") as cluster:
        await cluster.create(claim("web-scratch"), pod(volumes=[scratch()]))
        await cluster.settle()
        found = await cluster.get("PersistentVolumeClaim", "web-scratch")
        assert "ownerReferences" not in found["metadata"]
        assert await cluster.events("web") == [
            (
                "FailedBinding",
                (
                    "ephemeral volume scratch: PVC default/web-scratch was not created for pod "
                    "default/web (pod is not owner)"
                ),
            )
        ]

        await cluster.delete("PersistentVolumeClaim", "web-scratch")
        await cluster.settle()
        made = await cluster.get("PersistentVolumeClaim", "web-scratch")
        assert made["metadata"]["ownerReferences"][0]["name"] == "web"


async def test_a_refused_claim_is_reported_and_tried_again() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": "default"},
        "spec": {"hard": {"persistentvolumeclaims": "0"}},
    }
    async with a_cluster("ephemeral-volume") as cluster:
        await cluster.create(quota)
        patch = {"status": {"hard": {"persistentvolumeclaims": "0"}}}
        used = {"status": {"used": {"persistentvolumeclaims": "0"}}}
        await cluster.patch("ResourceQuota", "none", patch, subresource="status")
        await cluster.patch("ResourceQuota", "none", used, subresource="status")
        await cluster.create(pod(volumes=[scratch()]))
        await cluster.settle()
        reason, message = (await cluster.events("web"))[0]
        assert reason == "FailedBinding"
        assert message.startswith("ephemeral volume scratch: create PVC web-scratch: ")
        assert "exceeded quota" in message

        await cluster.delete("ResourceQuota", "none")
        await cluster.settle()
        assert await cluster.find("PersistentVolumeClaim", "web-scratch") is not None


async def test_a_controller_cut_off_between_two_claims_makes_the_other_later() -> None:
    async def arrange(cluster: StoryCluster) -> None:
        await cluster.create(pod(volumes=[scratch("a"), scratch("b")]))

    async def look(cluster: StoryCluster) -> list[str]:
        return await cluster.names("PersistentVolumeClaim")

    scenario = CrashScenario(loops=("ephemeral-volume",), arrange=arrange, look=look)
    assert await assert_same_end(scenario) == ["web-a", "web-b"]
