from hypothesis import given, settings

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import Judge, KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import PodVolumes
from tests.builders import HOSTNAME, a_claim, a_class, a_node, a_pod, a_volume
from tests.decide.scheduling.columns import plain
from tests.decide.scheduling.columns.clusters import Chance, a_new_pod, a_random_cluster, seeds

NO_PROVISIONER = "kubernetes.io/no-provisioner"


@given(seed=seeds)
@settings(max_examples=400, deadline=None)
def test_claims_get_on_a_node_what_the_plain_rule_gives_them(seed: int) -> None:
    chance = Chance(seed)
    objects = a_random_cluster(chance)
    pod = a_new_pod(chance, objects)
    view, columns = plain.cluster_of(objects), Columns.of(objects)
    judge = Judge(columns, KernelSettings(Policy.COMPATIBLE))
    judged = judge.judge(pod)
    if isinstance(judged, Rejected) or judged.volumes.delayed_claims is None:
        return
    for node in view.nodes.values():
        volumes = plain.volumes_for(pod, node, view)
        slot = columns.index.find(node.name)
        if isinstance(volumes, PodVolumes):
            assert slot is not None
            assert judge.volume_binding.bind(judged.volumes.delayed_claims, slot) == volumes


def test_volumes_are_assigned_so_that_every_claim_gets_one() -> None:
    """The small claim would take the only volume that the other could use."""
    node = {HOSTNAME: "node-1"}
    both = a_volume(
        "both", gib=5, reachable_from=node, access_modes=("ReadWriteOnce", "ReadOnlyMany")
    )
    objects = [
        a_node(),
        a_class(provisioner=NO_PROVISIONER),
        both,
        a_volume("plain", gib=9, reachable_from=node),
        a_claim("writes", gib=1),
        a_claim("reads", gib=2, access_modes=("ReadOnlyMany",)),
    ]
    pod = a_pod(claims=["writes", "reads"])
    columns = Columns.of(objects)

    compatible = Kernel(columns, KernelSettings(Policy.COMPATIBLE))
    default = Kernel(columns, KernelSettings(Policy.DEFAULT))

    assert compatible.volumes_on(pod, "node-1") is None
    volumes = default.volumes_on(pod, "node-1")
    assert volumes is not None
    assert {b.claim.name: b.volume.name for b in volumes.static} == {
        "writes": "plain",
        "reads": "both",
    }
