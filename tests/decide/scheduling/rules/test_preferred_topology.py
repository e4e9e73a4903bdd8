import msgspec
from hypothesis import given, settings

from plimsoll.api.meta import ApiObject
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.annotations import PREFERRED_TOPOLOGY
from plimsoll.decide.preferred_topology import preferred_text
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import Judge, KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel, Placement
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules import preferred_topology
from tests.builders import a_claim, a_node, a_pod, a_volume
from tests.decide.scheduling.builders import bound
from tests.decide.scheduling.columns import plain
from tests.decide.scheduling.columns.clusters import VOLUMES, Chance, a_random_cluster, seeds

REGION, ZONE = "example.com/region", "example.com/zone"


def near(volume: PersistentVolume, *levels: dict[str, str]) -> PersistentVolume:
    annotations = {PREFERRED_TOPOLOGY: preferred_text(levels)}
    metadata = msgspec.structs.replace(volume.metadata, annotations=annotations)
    return msgspec.structs.replace(volume, metadata=metadata)


def in_zone(name: str, region: str, zone: str) -> ApiObject:
    return a_node(name, labels={REGION: region, ZONE: zone})


def chosen(*objects: ApiObject, policy: Policy = Policy.DEFAULT) -> str:
    """For a pod with one claim, `data`, which is bound to volume `v`."""
    kernel = Kernel(Columns.of(objects), KernelSettings(policy))
    found = kernel.decide(a_pod(claims=["data"], requests={"cpu": "1"}))
    assert isinstance(found, Placement), found.message
    return found.node


DATA = bound(a_claim("data"), "v")
EAST_B = near(a_volume("v"), {REGION: "east"}, {ZONE: "b"})


def test_a_pod_goes_to_its_data_although_other_nodes_are_emptier() -> None:
    running = a_pod("p", node="home", requests={"cpu": "6", "memory": "20Gi"})
    nodes = [in_zone("home", "east", "b"), in_zone("other", "east", "a")]
    assert chosen(*nodes, running, DATA, EAST_B) == "home"
    assert chosen(*nodes, running, DATA, EAST_B, policy=Policy.COMPATIBLE) == "other"
    assert chosen(*nodes, running, DATA, a_volume("v")) == "other"


def test_a_pod_runs_elsewhere_when_there_is_no_room_near_its_data() -> None:
    running = a_pod("p", node="home", requests={"cpu": "8"})
    nodes = [in_zone("home", "east", "b"), in_zone("other", "west", "a")]
    assert chosen(*nodes, running, DATA, EAST_B) == "other"


def test_the_wider_domain_is_better_than_none() -> None:
    nodes = [in_zone("same-region", "east", "a"), in_zone("far", "west", "b")]
    assert chosen(*nodes, DATA, EAST_B) == "same-region"


def test_a_pod_with_several_volumes_goes_where_most_of_them_are_near() -> None:
    volumes = [near(a_volume(f"v{n}"), {ZONE: zone}) for n, zone in enumerate("abb")]
    claims = [bound(a_claim(f"c{n}"), f"v{n}") for n in range(3)]
    nodes = [in_zone("node-a", "east", "a"), in_zone("node-b", "east", "b")]
    judge = Judge(Columns.of([*nodes, *volumes, *claims]))
    judged = judge.judge(a_pod(claims=["c0", "c1", "c2"]))
    assert not isinstance(judged, Rejected)
    assert judged.locality is not None
    at = [judge.columns.index.find(name) for name in ("node-a", "node-b")]
    assert [int(judged.locality[slot or 0]) for slot in at] == [33, 66]


def test_clusters_without_such_volumes_are_not_looked_at() -> None:
    judged = Judge(Columns.of([a_node("a"), a_volume("v"), DATA])).judge(a_pod(claims=["data"]))
    assert not isinstance(judged, Rejected)
    assert judged.locality is None


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_all_nodes_at_once_get_what_each_gets_by_the_plain_rule(seed: int) -> None:
    chance = Chance(seed)
    objects = a_random_cluster(chance)
    view, columns = plain.cluster_of(objects), Columns.of(objects)
    claims = [bound(claim, chance.choice(VOLUMES)) for claim in view.claims.values()]

    found = preferred_topology.scores(claims, columns)

    for node in view.nodes.values():
        slot = columns.index.find(node.name)
        assert slot is not None
        expected = preferred_topology.score(claims, node, view)
        assert (0 if found is None else int(found[slot])) == expected
