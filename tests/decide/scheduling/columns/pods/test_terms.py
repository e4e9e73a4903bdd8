from plimsoll.decide.scheduling.columns.nodes import NodeIndex
from plimsoll.decide.scheduling.columns.pods.terms import FEW, PlacedTerms, SlotCounts
from tests.decide.scheduling.rules.inter_pod_affinity.builders import (
    a_pod_of,
    far,
    near,
    rather_near,
    term,
)


def an_index(nodes: int) -> NodeIndex:
    index = NodeIndex()
    for number in range(nodes):
        index.add(f"n{number}")
    return index


def test_many_numbers_are_kept_like_few() -> None:
    counts = SlotCounts(an_index(2 * FEW))
    for slot in range(2 * FEW):
        counts.add(slot, 1)
    twin = counts.fork(an_index(2 * FEW))
    for slot in range(0, 2 * FEW, 2):
        counts.add(slot, -1)

    assert counts.values[: 2 * FEW].tolist() == [0, 1] * FEW
    assert counts.total == FEW
    assert sorted(counts.slots().tolist()) == [*range(1, 2 * FEW, 2)]
    assert twin.values[: 2 * FEW].tolist() == [1] * (2 * FEW)


def test_a_term_is_known_as_long_as_a_pod_has_it() -> None:
    terms = PlacedTerms(an_index(3))
    first, second = (a_pod_of("db", name, affinity=far(term("web"))) for name in ("db-0", "db-1"))
    terms.add(first, 0, 1)
    terms.add(second, 2, 1)

    ((_, counts),) = terms.excluding.about(a_pod_of("web"), {})
    assert counts.values[:3].tolist() == [1, 0, 1]
    assert sorted(counts.slots().tolist()) == [0, 2]
    assert terms.excluding.about(a_pod_of("db"), {}) == []
    terms.add(first, 0, -1)
    terms.add(second, 2, -1)
    assert terms.excluding.about(a_pod_of("web"), {}) == []


def test_required_affinity_counts_for_a_little_when_others_are_placed() -> None:
    terms = PlacedTerms(an_index(1))
    terms.add(a_pod_of("db", affinity=near(term("web"))), 0, 1)
    terms.add(a_pod_of("db", affinity=rather_near(40, term("web"))), 0, 1)

    found = terms.weighted.about(a_pod_of("web"), {})

    assert sorted(weighted.weight for weighted, _ in found) == [1, 40]
