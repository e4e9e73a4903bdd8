from hypothesis import given, settings

from plimsoll.decide.scheduling.columns.labels import LabelIndex, do_match, volume_terms
from plimsoll.decide.scheduling.columns.nodes import NodeIndex
from plimsoll.decide.scheduling.columns.segments import Cells, Segments
from tests.decide.scheduling.columns.clusters import Chance, labels, node_selector, seeds

NODES = [f"n{number}" for number in range(5)]


@given(seed=seeds)
@settings(max_examples=200, deadline=None)
def test_nodes_are_in_the_cell_of_exactly_the_segments_that_select_them(seed: int) -> None:
    chance = Chance(seed)
    index = NodeIndex()
    known = LabelIndex(index)
    segments, cells = Segments(known), Cells(index)
    nodes: dict[str, dict[str, str]] = {}
    used: dict[int, object] = {}

    for _ in range(25):
        name = chance.choice(NODES)
        if chance.happens(40):
            old, new = nodes.get(name), labels(chance, name)
            slot = index.find(name) if old is not None else index.add(name)
            assert slot is not None
            known.change(slot, old or {}, new)
            for segment, enters in segments.crossings(old, new):
                cells.cross(slot, segment, enters=enters)
            nodes[name] = new
        elif name in nodes and chance.happens(20):
            slot, old = index.remove(name), nodes.pop(name)
            known.change(slot, old, {})
            for segment, enters in segments.crossings(old, None):
                cells.cross(slot, segment, enters=enters)
        elif used and chance.happens(30):
            segment = chance.choice(list(used))
            cells.drop(segment, segments.members(segment))
            segments.release(segment)
            del used[segment]
        else:
            terms = volume_terms(node_selector(chance))
            segment = segments.acquire(terms)
            if segment in used:
                segments.release(segment)
            else:
                cells.add(segment, segments.members(segment))
                used[segment] = terms
        for known_name, found in nodes.items():
            slot = index.find(known_name)
            assert slot is not None
            cell = int(cells.of.values[slot])
            assert cells.segments[cell] == {
                segment
                for segment, terms in used.items()
                if do_match(terms, found)  # type: ignore[arg-type]  # terms, kept as an object
            }
            assert slot in cells.slots_in([cell])
    assert len(segments) == len(used)
