import msgspec

from plimsoll.api.meta import ApiObject
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.api.volumes import Resources
from plimsoll.decide.capacity.names import TEMPLATE_NODE
from plimsoll.decide.scheduling.rules.volume_binding.shortage import shortages
from tests.builders import ZONE, a_capacity, a_claim, a_class, a_pod
from tests.decide.scheduling.builders import a_cluster

POD = a_pod(claims=("data",))


def told(*objects: ApiObject) -> list[str]:
    return list(shortages(POD, a_cluster(a_class(), *objects)))


def room(zone: str, gib: int) -> CSIStorageCapacity:
    return a_capacity(zone, segment={ZONE: zone}, gib=gib)


def test_a_claim_larger_than_all_that_is_published_is_told_with_the_sizes() -> None:
    assert told(a_claim("data", gib=50), room("a", 10), room("b", 20)) == [
        "claim data needs 50Gi, at most 20Gi can be made"
    ]


def test_a_size_beyond_64_bits_is_short_of_room() -> None:
    claim = a_claim("data")
    beyond = Resources(requests={"storage": str(2**63)})
    spec = msgspec.structs.replace(claim.spec, resources=beyond)
    assert told(msgspec.structs.replace(claim, spec=spec), room("a", 10)) == [
        "claim data needs 9223372036854775807, at most 10Gi can be made"
    ]


def test_a_claim_that_fits_somewhere_is_not_short_of_room() -> None:
    assert told(a_claim("data", gib=15), room("a", 10), room("b", 20)) == []


def test_nothing_is_said_where_nothing_is_published() -> None:
    assert told(a_claim("data", gib=50)) == []


def test_a_claim_that_has_its_volume_is_short_of_nothing() -> None:
    claim = a_claim("data", gib=50)
    bound = msgspec.structs.replace(
        claim, spec=msgspec.structs.replace(claim.spec, volume_name="volume")
    )
    assert told(bound, room("a", 10)) == []


def test_nodes_that_do_not_exist_yet_have_no_room() -> None:
    imagined = a_capacity("new", segment={TEMPLATE_NODE: "true"}, gib=100)
    assert told(a_claim("data", gib=50), imagined, room("a", 10)) == [
        "claim data needs 50Gi, at most 10Gi can be made"
    ]


def test_room_without_a_topology_is_out_of_reach() -> None:
    nowhere = msgspec.structs.replace(room("a", 100), node_topology=None)
    assert told(a_claim("data", gib=50), nowhere, room("b", 10)) == [
        "claim data needs 50Gi, at most 10Gi can be made"
    ]
