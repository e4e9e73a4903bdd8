from hypothesis import given, settings

from plimsoll.api.core import Taint
from plimsoll.api.selectors.node import NodeSelector
from plimsoll.decide.scheduling.columns.labels import (
    LabelIndex,
    TaintIndex,
    do_match,
    segment_terms,
    volume_terms,
)
from plimsoll.decide.scheduling.columns.nodes import NodeIndex, slots_of
from tests.builders import a_node
from tests.decide.scheduling.columns.clusters import SEGMENTS, Chance, labels, node_selector, seeds


@given(seed=seeds)
@settings(max_examples=200, deadline=None)
def test_a_selector_finds_the_nodes_that_it_matches(seed: int) -> None:
    chance = Chance(seed)
    index = NodeIndex()
    known = LabelIndex(index)
    nodes = {f"n{number}": labels(chance, f"n{number}") for number in range(6)}
    for name, found in nodes.items():
        known.change(index.add(name), {}, found)
    for name in chance.some(list(nodes), most=4):
        slot = index.find(name)
        assert slot is not None
        new = labels(chance, name)
        known.change(slot, nodes[name], new)
        nodes[name] = new
    gone = chance.choice(list(nodes))
    known.change(index.remove(gone), nodes.pop(gone), {})

    for _ in range(4):
        spec, segment = node_selector(chance), chance.choice(SEGMENTS)
        selector, terms = NodeSelector.of(spec), volume_terms(spec)
        by_labels = {index.names[slot] for slot in slots_of(known.matching(terms))}
        assert by_labels == {name for name, found in nodes.items() if selector.matches(found)}
        assert by_labels == {name for name, found in nodes.items() if do_match(terms, found)}
        for term in selector.terms:
            by_name = {index.names[slot] for slot in slots_of(known.matching_term(term))}
            assert by_name == {name for name in nodes if term.matches(nodes[name], name)}
        covered = {index.names[s] for s in slots_of(known.matching(segment_terms(segment)))}
        assert covered == {n for n in nodes if do_match(segment_terms(segment), nodes[n])}


def test_a_volume_without_affinity_is_reached_from_everywhere_and_nonsense_from_nowhere() -> None:
    assert do_match(volume_terms(None), {})
    assert not do_match(segment_terms(None), {"a": "b"})
    assert not do_match(segment_terms(SEGMENTS[5]), {"disk": "ssd"})


def test_taints_are_found_with_their_nodes_until_they_are_gone() -> None:
    taints = TaintIndex()
    soft = Taint(key="slow", effect="PreferNoSchedule")
    hard = Taint(key="gpu", effect="NoSchedule")
    node = a_node(taints=(soft, soft, hard))

    taints.change(3, None, node)
    assert taints.having(("PreferNoSchedule",)) == [(soft, 8), (soft, 8)]
    assert taints.having(("NoSchedule", "NoExecute")) == [(hard, 8)]

    taints.change(3, node, None)
    assert taints.having(("PreferNoSchedule", "NoSchedule")) == []
