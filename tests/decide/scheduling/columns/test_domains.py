"""Numbers of domains, kept change by change."""

import numpy as np
from hypothesis import given, strategies as st

from plimsoll.decide.scheduling.columns.domains import NO_DOMAIN, DomainColumns
from plimsoll.decide.scheduling.columns.nodes import NodeIndex

SLOTS = 4
LABELS = st.none() | st.dictionaries(
    st.sampled_from(["zone", "rack"]), st.sampled_from(["1", "2", "3"])
)


@given(
    st.lists(st.tuples(st.integers(0, SLOTS - 1), LABELS), max_size=20),
    st.sampled_from([(), ("zone",)]),
)
def test_nodes_share_a_domain_where_they_have_the_same_value(
    changes: list[tuple[int, dict[str, str] | None]], asked_early: tuple[str, ...]
) -> None:
    index = NodeIndex()
    for number in range(SLOTS):
        index.add(str(number))
    columns = DomainColumns(index)
    labels: dict[int, dict[str, str] | None] = {}
    for key in asked_early:
        columns.of(key)
    for slot, new in changes:
        labels[slot] = new
        columns.change(slot, new)
        there = [(labels.get(other) or {}).get("zone") for other in range(SLOTS)]
        for other in range(SLOTS):
            near = columns.of("zone").sharing(np.array([other], np.intp))[:SLOTS]
            assert near.tolist() == [each is not None and each == there[other] for each in there]
    values = [(labels.get(slot) or {}).get("zone") for slot in range(SLOTS)]
    amounts = np.arange(1, index.size + 1, dtype=np.int64)
    domains = columns.of("zone")

    numbers = domains.numbers[:SLOTS].tolist()
    assert [number == NO_DOMAIN for number in numbers] == [value is None for value in values]
    assert [a == b for a in numbers for b in numbers] == [a == b for a in values for b in values]
    assert max(numbers) < domains.limit or domains.limit == 0
    assert domains.totals(amounts)[:SLOTS].tolist() == [
        sum(n + 1 for n in range(SLOTS) if values[n] == value) if value else 0 for value in values
    ]
    some = amounts % 2
    assert domains.having(some)[:SLOTS].tolist() == (domains.totals(some)[:SLOTS] > 0).tolist()
    assert domains.by_value(amounts) == {
        value: int(domains.totals(amounts)[values.index(value)]) for value in values if value
    }
