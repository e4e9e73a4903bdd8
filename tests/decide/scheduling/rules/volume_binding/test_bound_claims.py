from plimsoll.api.meta import ObjectMeta
from plimsoll.api.storage import CSINode
from plimsoll.api.volumes import AwsElasticBlockStore, PersistentVolume, VolumeSpec
from plimsoll.decide.annotations import MIGRATED_PLUGINS
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.rules.volume_binding import bound_claims as bound
from tests.builders import ZONE, a_claim, a_node, a_volume

NODES = [a_node("a", labels={ZONE: "a"}), a_node("b", labels={ZONE: "b"})]
ON_A, ON_B = 1, 2


def test_volumes_keep_pods_to_the_nodes_that_reach_them() -> None:
    claims = [a_claim("c", volume="v"), a_claim("d", volume="w")]
    volumes = [a_volume("v", reachable_from={ZONE: "a"}), a_volume("w", reachable_from={ZONE: "b"})]
    columns = Columns.of([*NODES, *volumes])

    assert [*bound.blocked(claims[:1], columns)] == [(Blocked.BOUND_AFFINITY, ON_B)]
    assert [*bound.blocked(claims, columns)] == [
        (Blocked.BOUND_AFFINITY, ON_B),
        (Blocked.BOUND_AFFINITY, ON_A),
    ]


def test_a_volume_that_is_gone_is_gone_for_all_nodes_that_are_left() -> None:
    claims = [a_claim("c", volume="v"), a_claim("d", volume="gone")]
    columns = Columns.of([*NODES, a_volume("v", reachable_from={ZONE: "a"})])

    assert [*bound.blocked(claims, columns)] == [
        (Blocked.BOUND_AFFINITY, ON_B),
        (Blocked.BOUND_MISSING, ON_A),
    ]


def test_nodes_that_leave_a_plugin_to_its_driver_see_the_volume_through_it() -> None:
    source = AwsElasticBlockStore(volume_id="aws://a/not-a-volume/id")
    volume = PersistentVolume(
        metadata=ObjectMeta(name="v"), spec=VolumeSpec(aws_elastic_block_store=source)
    )
    annotations = {MIGRATED_PLUGINS: "kubernetes.io/aws-ebs"}
    csi_node = CSINode(metadata=ObjectMeta(name="b", annotations=annotations))
    columns = Columns.of([*NODES, volume, csi_node])

    found = [*bound.blocked([a_claim("c", volume="v")], columns)]

    assert found == [(Blocked.BOUND_UNREADABLE, ON_B)]
