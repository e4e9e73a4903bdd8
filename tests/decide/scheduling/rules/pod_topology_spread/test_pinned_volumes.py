import msgspec

from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import ClaimVolume, Pod, PodVolume
from plimsoll.decide.explain.pod import explain_pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel, NoNode
from tests.builders import HOSTNAME, ZONE, a_capacity, a_claim, a_class, a_driver, a_volume
from tests.decide.scheduling.builders import bound
from tests.decide.scheduling.rules.pod_topology_spread.builders import (
    a_constraint,
    a_spread_pod,
    a_web_pod,
    zonal_nodes,
)

NODES = zonal_nodes(a1="a", a2="a", b1="b", c1="c")
PAIR = (
    "claim data-0 is bound to zone a; "
    "spreading by topology.kubernetes.io/zone asks for another zone than a"
)
BOUND = [
    a_class(),
    bound(a_claim("data-0"), "pv"),
    a_volume("pv", reachable_from={ZONE: "a"}, claim=a_claim("data-0")),
]


def a_pod(*keys: str) -> Pod:
    pod = a_spread_pod(*map(a_constraint, keys or (ZONE,)))
    volume = PodVolume(name="data", persistent_volume_claim=ClaimVolume(claim_name="data-0"))
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, volumes=(volume,)))


def told(pod: Pod, *objects: ApiObject) -> tuple[str, ...]:
    found = Kernel(Columns.of(objects)).decide(pod)
    assert isinstance(found, NoNode)
    return found.shortages


def test_a_volume_in_the_zone_that_is_full_is_told_with_the_zone() -> None:
    objects = [*NODES, *BOUND, a_web_pod("a1")]

    assert told(a_pod(), *objects) == (PAIR,)
    explained = explain_pod(a_pod(), Kernel(Columns.of(objects)))
    assert PAIR in explained.message


def test_the_constraint_that_is_broken_is_named() -> None:
    crowd = [a_web_pod(node) for node in ("a1", "a2")]

    (sentence,) = told(a_pod(HOSTNAME), *NODES, *BOUND, *crowd)

    assert sentence == (
        "claim data-0 is bound to node a1, a2; "
        "spreading by kubernetes.io/hostname asks for another node than a1, a2"
    )


def test_a_claim_that_has_room_in_the_full_zone_only_is_told_as_well() -> None:
    free = [
        a_capacity(segment={ZONE: zone}, gib=gib, name=zone) for zone, gib in (("a", 9), ("b", 1))
    ]
    claim = a_claim("data-0", gib=5)

    found = told(a_pod(), *NODES[:3], a_class(), a_driver(), *free, claim, a_web_pod("a1"))

    assert found[-1] == (
        "claim data-0 has room only in zone a; "
        "spreading by topology.kubernetes.io/zone asks for another zone than a"
    )


def test_nothing_is_told_where_one_of_the_two_is_enough() -> None:
    crowd = [a_web_pod(node) for node in ("a1", "b1")]
    full = a_spread_pod(a_constraint(selector=None, max_skew=-1))
    spec = msgspec.structs.replace(full.spec, volumes=a_pod().spec.volumes)

    assert told(msgspec.structs.replace(full, spec=spec), *NODES, *BOUND, *crowd) == ()
