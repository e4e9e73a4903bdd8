"""Claims and volumes find each other, and part."""

from datetime import timedelta
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.objects import claim, pod, uses, volume

RESYNC = timedelta(seconds=16)
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONERS = (
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-provisioner",
)


def a_class(
    name: str = "fast", *, waits: bool = False, default: bool = False, **fields: Any
) -> Document:
    annotation = "storageclass.kubernetes.io/is-default-class"
    metadata: Document = {"name": name}
    if default:
        metadata["annotations"] = {annotation: "true"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": metadata,
        "provisioner": "disk.example.com",
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
    } | fields


def sized(document: Document, size: str) -> Document:
    spec = document["spec"]
    if document["kind"] == "PersistentVolume":
        spec["capacity"] = {"storage": size}
    else:
        spec["resources"] = {"requests": {"storage": size}}
    return document


async def pairs(cluster: StoryCluster) -> dict[str, str]:
    """Volume by claim, for all claims that are bound in both directions."""
    claims = {c["metadata"]["uid"]: c for c in await cluster.all("PersistentVolumeClaim")}
    found = {}
    for each in await cluster.all("PersistentVolume"):
        bound = claims.get(each["spec"].get("claimRef", {}).get("uid"))
        phases = {each["status"]["phase"], (bound or {}).get("status", {}).get("phase")}
        if bound and bound["spec"].get("volumeName") == each["metadata"]["name"]:
            assert phases == {"Bound"}
            found[bound["metadata"]["name"]] = each["metadata"]["name"]
    return found


async def phase(cluster: StoryCluster, kind: str, name: str) -> str:
    found: str = (await cluster.get(kind, name))["status"]["phase"]
    return found


async def reasons(cluster: StoryCluster, name: str) -> set[str]:
    return {reason for reason, _ in await cluster.events(name)}


async def test_a_claim_gets_the_smallest_volume_that_is_large_enough() -> None:
    async with a_cluster("binding") as cluster:
        await cluster.create(
            sized(volume("small"), "1Gi"),
            sized(volume("right"), "5Gi"),
            sized(volume("large"), "50Gi"),
        )
        await cluster.settle()
        await cluster.create(sized(claim(), "4Gi"))
        await cluster.settle()
        assert await pairs(cluster) == {"data": "right"}
        bound = await cluster.get("PersistentVolumeClaim", "data")
        assert bound["status"]["capacity"] == {"storage": "5Gi"}
        assert await phase(cluster, "PersistentVolume", "small") == "Available"


async def test_a_claim_that_waits_is_bound_soon_after_a_volume_appears() -> None:
    async with a_cluster("binding") as cluster:
        await cluster.create(claim())
        await cluster.settle()
        assert await pairs(cluster) == {}
        await cluster.create(volume())
        await cluster.settle()
        assert await pairs(cluster) == {"data": "volume-1"}


async def test_many_claims_never_share_a_volume() -> None:
    async with a_cluster("binding") as cluster:
        for number in range(30):
            await cluster.create(claim(f"claim-{number}"), volume(f"volume-{number}"))
        await cluster.settle()
        found = await pairs(cluster)
        assert len(found) == 30
        assert len(set(found.values())) == 30


async def test_a_volume_kept_by_name_waits_for_its_claim() -> None:
    async with a_cluster("binding") as cluster:
        await cluster.create(
            volume("kept", claim_ref={"namespace": "default", "name": "wanted"}),
            claim("other"),
        )
        await cluster.settle()
        assert await pairs(cluster) == {}
        await cluster.create(claim("wanted"))
        await cluster.settle()
        assert await pairs(cluster) == {"wanted": "kept"}


async def test_a_claim_that_asks_for_a_volume_which_does_not_suit_is_told_why() -> None:
    async with a_cluster("binding") as cluster:
        await cluster.create(volume(), sized(claim(volume="volume-1"), "2Gi"))
        await cluster.settle()
        assert (
            "VolumeMismatch",
            'Cannot bind to requested volume "volume-1": requested PV is too small',
        ) in await cluster.events("data")
        assert await phase(cluster, "PersistentVolumeClaim", "data") == "Pending"


async def test_a_claim_whose_volume_vanishes_is_lost_and_comes_back_with_it() -> None:
    async with a_cluster("binding") as cluster:
        await cluster.create(volume(), claim())
        await cluster.settle()
        kept = await cluster.get("PersistentVolume", "volume-1")
        await cluster.patch("PersistentVolume", "volume-1", {"metadata": {"finalizers": None}})
        await cluster.delete("PersistentVolume", "volume-1")
        await cluster.settle()
        assert await phase(cluster, "PersistentVolumeClaim", "data") == "Lost"
        assert "ClaimLost" in await reasons(cluster, "data")

        for field in ("uid", "resourceVersion", "creationTimestamp"):
            del kept["metadata"][field]
        await cluster.create(kept)
        await cluster.settle()
        assert await pairs(cluster) == {"data": "volume-1"}


async def test_delayed_binding_waits_for_the_schedulers_mark() -> None:
    async with a_cluster("binding") as cluster:
        await cluster.create(a_class(waits=True), volume(), claim())
        await cluster.settle()
        assert await pairs(cluster) == {}
        assert await reasons(cluster, "data") == {"WaitForFirstConsumer"}

        await cluster.create(pod(volumes=[uses("data")]))
        await cluster.wait(RESYNC)
        assert (
            "WaitForPodScheduled",
            "waiting for pod web to be scheduled",
        ) in await cluster.events("data")

        # The scheduler prebinds the volume that it chose.
        uid = (await cluster.get("PersistentVolumeClaim", "data"))["metadata"]["uid"]
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": "default",
            "name": "data",
            "uid": uid,
        }
        await cluster.patch("PersistentVolume", "volume-1", {"spec": {"claimRef": reference}})
        await cluster.settle()
        assert await pairs(cluster) == {"data": "volume-1"}


async def test_an_external_provisioner_is_named_and_then_left_alone() -> None:
    async with a_cluster("binding") as cluster:
        await cluster.create(a_class(), claim())
        await cluster.settle()
        waiting = await cluster.get("PersistentVolumeClaim", "data")
        for annotation in PROVISIONERS:
            assert waiting["metadata"]["annotations"][annotation] == "disk.example.com"
        assert await reasons(cluster, "data") == {"ExternalProvisioning"}
        assert await cluster.names("PersistentVolume") == []


async def test_delayed_binding_hands_over_once_a_node_is_selected() -> None:
    async with a_cluster("binding") as cluster:
        await cluster.create(a_class(waits=True), claim())
        await cluster.settle()
        annotations = (await cluster.get("PersistentVolumeClaim", "data"))["metadata"]
        assert PROVISIONERS[1] not in annotations.get("annotations", {})
        patch = {"metadata": {"annotations": {SELECTED_NODE: "node-1"}}}
        await cluster.patch("PersistentVolumeClaim", "data", patch)
        await cluster.settle()
        found = await cluster.get("PersistentVolumeClaim", "data")
        assert found["metadata"]["annotations"][PROVISIONERS[1]] == "disk.example.com"


async def test_a_missing_class_is_reported_and_used_when_it_comes() -> None:
    async with a_cluster("binding") as cluster:
        await cluster.create(claim())
        await cluster.settle()
        assert (
            "ProvisioningFailed",
            'storageclass.storage.k8s.io "fast" not found',
        ) in await cluster.events("data")
        await cluster.create(a_class())
        await cluster.settle()
        assert "ExternalProvisioning" in await reasons(cluster, "data")


async def test_a_claim_without_class_gets_the_default_when_there_is_one() -> None:
    without: Document = claim()
    del without["spec"]["storageClassName"]
    async with a_cluster("binding") as cluster:
        await cluster.create(without)
        await cluster.settle()
        assert await reasons(cluster, "data") == {"FailedBinding"}
        await cluster.create(a_class("usual", default=True))
        await cluster.settle()
        found = await cluster.get("PersistentVolumeClaim", "data")
        assert found["spec"]["storageClassName"] == "usual"
        assert "ExternalProvisioning" in await reasons(cluster, "data")


async def test_a_released_volume_that_is_retained_stays_and_is_not_given_away() -> None:
    retained = {"persistentVolumeReclaimPolicy": "Retain"}
    async with a_cluster("binding", "claim-protection") as cluster:
        await cluster.create(volume(spec=retained), claim())
        await cluster.settle()
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        assert await phase(cluster, "PersistentVolume", "volume-1") == "Released"
        await cluster.create(claim())
        await cluster.wait(RESYNC)
        assert await pairs(cluster) == {}


async def test_nothing_is_written_once_everything_is_bound() -> None:
    async with a_cluster() as cluster:
        await cluster.create(volume(), claim())
        controller = await cluster.start("binding")
        await cluster.settle()
        before = controller.writes
        await cluster.wait(timedelta(minutes=5))
        assert controller.writes == before


async def test_a_controller_cut_off_at_any_write_finishes_every_binding() -> None:
    async def arrange(cluster: StoryCluster) -> None:
        await cluster.create(
            sized(volume("small"), "1Gi"),
            sized(volume("large"), "9Gi"),
            volume("kept", claim_ref={"namespace": "default", "name": "wanted"}),
            sized(claim("modest"), "1Gi"),
            sized(claim("greedy"), "8Gi"),
            claim("wanted"),
        )

    scenario = CrashScenario(loops=("binding",), arrange=arrange, look=pairs)
    bound = {"modest": "small", "greedy": "large", "wanted": "kept"}
    assert await assert_same_end(scenario) == bound
