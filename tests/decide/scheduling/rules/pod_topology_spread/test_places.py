from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.domains import NO_DOMAIN
from plimsoll.decide.scheduling.rules.pod_topology_spread.places import NOWHERE, KeptPlaces
from tests.builders import HOSTNAME, ZONE, a_node
from tests.decide.scheduling.rules.pod_topology_spread.builders import zonal_nodes


def numbers(columns: Columns, *, needs_all: bool) -> dict[str, int]:
    places = KeptPlaces(columns).of((HOSTNAME, ZONE), needs_all=needs_all)
    return {name: int(places.numbers[s]) for s, name in enumerate(columns.index.names) if name}


def test_nodes_of_the_same_domains_are_in_one_place() -> None:
    columns = Columns.of([*zonal_nodes(a1="a", a2="a", b1="b"), a_node("bare")])

    found = numbers(columns, needs_all=True)
    assert found["a1"] == found["a2"] != found["b1"]
    assert found["bare"] == NOWHERE
    assert len(set(numbers(columns, needs_all=False).values())) == 3


def test_places_follow_the_labels_of_nodes() -> None:
    columns = Columns.of(zonal_nodes(a1="a", b1="b"))
    kept = KeptPlaces(columns)
    before = kept.of((ZONE,), needs_all=False)

    assert kept.of((ZONE,), needs_all=False) is before
    columns.put(zonal_nodes(b1="a")[0])
    after = kept.of((ZONE,), needs_all=False)
    assert after is not before
    slots = [columns.index.find(name) for name in ("a1", "b1")]
    assert after.numbers[slots[0]] == after.numbers[slots[1]] != NOWHERE
    assert after.domains[ZONE][NOWHERE] == NO_DOMAIN
