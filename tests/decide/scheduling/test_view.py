from plimsoll.api.meta import ObjectKey
from tests.builders import a_capacity, a_claim, a_class, a_node, a_pod, a_volume
from tests.decide.scheduling.builders import a_cluster


def test_a_cluster_sorts_what_it_is_given() -> None:
    cluster = a_cluster(
        a_volume("b"),
        a_volume("a"),
        a_volume("other", class_name="slow"),
        a_node("node-1"),
        a_claim("data"),
        a_class("fast"),
        a_capacity("two", segment={}, gib=1),
        a_capacity("one", segment={}, gib=1),
        a_capacity("slow", segment={}, gib=1, class_name="slow"),
    )
    assert [volume.name for volume in cluster.volumes_of_class("fast")] == ["a", "b"]
    assert [capacity.name for capacity in cluster.capacities_of_class("fast")] == ["one", "two"]
    assert cluster.node("node-1") is not None
    assert cluster.claim(ObjectKey("default", "data")) is not None
    assert cluster.storage_class("slow") is None


def test_a_claim_is_in_use_once_a_pod_with_a_node_names_it() -> None:
    cluster = a_cluster(
        a_pod("waiting", claims=["data"]),
        a_pod("running", claims=["logs"], node="node-1"),
        a_pod("elsewhere", claims=["other"], node="node-1", namespace="team-b"),
    )
    assert cluster.is_claim_in_use(ObjectKey("default", "logs"))
    assert not cluster.is_claim_in_use(ObjectKey("default", "data"))
    assert not cluster.is_claim_in_use(ObjectKey("default", "other"))
    assert [pod.name for pod in cluster.pods_on("node-1")] == ["running", "elsewhere"]
