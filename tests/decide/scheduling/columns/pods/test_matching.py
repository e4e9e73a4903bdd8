"""Selectors that a pod matches, found by its labels."""

from hypothesis import given, strategies as st

from plimsoll.api.meta import ObjectMeta
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.label import EVERYTHING, NOTHING, parse_label_selector
from plimsoll.decide.scheduling.columns.pods.matching import SelectorIndex
from plimsoll.decide.scheduling.pod_terms import PodSelector

LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["web", "db"]))
TEXTS = ("app=web", "app in (web,db)", "app!=web", "tier", "app=db,!tier", "tier in (db),app=web")
SELECTORS = st.builds(
    PodSelector,
    st.sampled_from([EVERYTHING, NOTHING, *map(parse_label_selector, TEXTS)]),
    st.frozensets(st.sampled_from(["one", "two"])),
    st.sampled_from([NOTHING, EVERYTHING, parse_label_selector("app=web")]),
)


@given(
    st.lists(SELECTORS, max_size=8),
    st.integers(0, 8),
    st.builds(
        lambda namespace, labels: Pod(
            metadata=ObjectMeta(name="p", namespace=namespace, labels=labels)
        ),
        st.sampled_from(["one", "two"]),
        LABELS,
    ),
    LABELS,
)
def test_exactly_the_selectors_that_match_a_pod_are_found(
    selectors: list[PodSelector],
    removed: int,
    pod: Pod,
    namespace_labels: dict[str, str],
) -> None:
    index: SelectorIndex[int] = SelectorIndex()
    for number, selector in enumerate(selectors):
        index.add(number, selector)
    kept = dict(enumerate(selectors))
    for number in range(min(removed, len(selectors))):
        index.remove(number)
        del kept[number]

    assert len(index) == len(kept)
    assert sorted(index.matching(pod, namespace_labels)) == [
        number for number, each in kept.items() if each.matches(pod, namespace_labels)
    ]
