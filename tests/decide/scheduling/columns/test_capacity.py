from hypothesis import given, settings

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.decide.scheduling.columns.capacity import NOT_PUBLISHED, UNKNOWN, largest_volume
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import is_in_segment
from tests.builders import HOSTNAME, a_capacity, a_node
from tests.decide.scheduling.columns.clusters import Chance, a_random_capacity, a_random_node, seeds

EVERYWHERE = slice(None)


@given(seed=seeds)
@settings(max_examples=200, deadline=None)
def test_every_node_knows_the_largest_volume_it_could_get(seed: int) -> None:
    chance = Chance(seed)
    columns = Columns()
    nodes: dict[str, Node] = {}
    published: dict[ObjectKey, CSIStorageCapacity] = {}
    for _ in range(25):
        if chance.happens(40):
            node = a_random_node(chance)
            nodes[node.name] = node
            columns.put(node)
        elif published and chance.happens(30):
            columns.remove(published.pop(chance.choice(list(published))))
        else:
            capacity = a_random_capacity(chance)
            published[capacity.key] = capacity
            columns.put(capacity)
    for name in ("fast", "zonal"):
        of_class = columns.capacity.by_class.get(name)
        mine = [c for _, c in sorted(published.items()) if c.storage_class_name == name]
        assert (of_class is None) == (not mine)
        if of_class is None:
            continue
        for node in nodes.values():
            slot = columns.index.find(node.name)
            assert slot is not None
            covering = [c for c in mine if is_in_segment(node.labels, c)]
            limits = [UNKNOWN if (v := largest_volume(c)) is None else v.value for c in covering]
            largest, _ = of_class.read(0, EVERYWHERE)
            assert largest[slot] == max(limits, default=NOT_PUBLISHED)
            fitting = [c for c, limit in zip(covering, limits, strict=True) if limit >= 2]
            assert of_class.find(slot, 2) == (fitting[0] if fitting else None)


def test_an_update_of_one_nodes_capacity_touches_only_its_cell() -> None:
    columns = Columns()
    for name in ("a", "b", "c"):
        columns.put(a_node(name))
        columns.put(a_capacity(name, segment={HOSTNAME: name}, gib=10))
    of_class = columns.capacity.by_class.get("fast")
    assert of_class is not None
    of_class.read(0, EVERYWHERE)
    position, moves = of_class.cells.log.position, of_class.cells.moves.position

    columns.put(a_capacity("b", segment={HOSTNAME: "b"}, gib=4))

    slot = columns.index.find("b")
    assert of_class.cells.log.since(position) == {int(of_class.cells.of.values[slot])}
    assert of_class.cells.moves.since(moves) == set()
