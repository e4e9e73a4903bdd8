from hypothesis import given, settings

from plimsoll.decide.claims.match import Search, find_match, rank_of
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.free_volumes import want_of
from plimsoll.decide.scheduling.columns.volumes import NOT_MATCHED
from tests.builders import HOSTNAME, a_claim, a_node, a_volume
from tests.decide.scheduling.columns.clusters import (
    Chance,
    a_random_claim,
    a_random_node,
    a_random_volume,
    by_identity,
    seeds,
)


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_a_claim_finds_the_volume_that_it_finds_among_all(seed: int) -> None:
    chance = Chance(seed)
    nodes = by_identity(a_random_node(chance) for _ in range(4))
    volumes = by_identity(a_random_volume(chance) for _ in range(12))
    columns = Columns.of([*nodes, *volumes])
    claim = a_random_claim(chance)
    try:
        search = Search.of(claim, node_labels={})
    except ValueError:
        return
    of_class = columns.volumes.by_class.get(claim.storage_class)
    if of_class is None or of_class.find_kept(search):
        return
    wants = (want_of(claim, search.requested.rank),)
    fits = of_class.fits(wants)
    for node in nodes:
        slot = columns.index.find(node.name)
        assert slot is not None
        cell = int(of_class.cells.of.values[slot])
        here = Search.of(claim, node_labels=node.labels)
        expected = find_match(here, columns.volumes_of_class(claim.storage_class))
        assert of_class.choose(slot, wants) == [expected]
        size = NOT_MATCHED if fits is None else fits.sizes[0, cell]
        assert (size == NOT_MATCHED) == (expected is None)


def test_what_was_worked_out_follows_volumes_that_come_and_go() -> None:
    columns = Columns()
    for name in ("a", "b"):
        columns.put(a_node(name))
        columns.put(a_volume(f"on-{name}", gib=5, reachable_from={HOSTNAME: name}))
    of_class = columns.volumes.by_class.get("fast")
    assert of_class is not None
    claim = a_claim(gib=3)
    wants = (want_of(claim, rank_of(claim.spec.resources.requests)),) * 2

    def matched() -> dict[str, int]:
        fits = of_class.fits(wants)
        assert fits is not None
        cells = of_class.cells.of.values
        found = ((name, columns.index.find(name)) for name in ("a", "b"))
        return {name: int((fits.sizes[:, cells[slot]] > 0).sum()) for name, slot in found}

    assert matched() == {"a": 1, "b": 1}
    columns.put(a_volume("second-on-a", gib=9, reachable_from={HOSTNAME: "a"}))
    assert matched() == {"a": 2, "b": 1}
    columns.put(a_volume("on-a", gib=5, reachable_from={HOSTNAME: "a"}, claim=a_claim("other")))
    assert matched() == {"a": 1, "b": 1}
    columns.put(a_volume("anywhere", gib=3))
    assert matched() == {"a": 2, "b": 2}


def test_a_kept_volume_decides_for_its_claim() -> None:
    claim = a_claim(gib=1)
    kept = a_volume("kept", gib=50, claim=claim.key)
    columns = Columns.of([a_node(), a_volume("small", gib=1), kept])
    of_class = columns.volumes.by_class.get("fast")
    assert of_class is not None

    assert of_class.find_kept(Search.of(claim, node_labels={})) == kept
    assert of_class.find_kept(Search.of(a_claim("other"), node_labels={})) is None
    assert of_class.kept_for(claim.key) == [kept]
