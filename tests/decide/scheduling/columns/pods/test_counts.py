"""Counts of pods that match selectors, kept change by change."""

from datetime import UTC, datetime

import msgspec
from hypothesis import given, strategies as st

from plimsoll.api.core import Namespace
from plimsoll.api.meta import ObjectMeta
from plimsoll.api.pods import Pod, PodSpec
from plimsoll.api.selectors.label import EVERYTHING, NOTHING, LabelSelector, parse_label_selector
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.pods.counts import KEPT_COUNTS, CountedPods
from plimsoll.decide.scheduling.pod_terms import PodSelector
from tests.builders import a_node

NODES = ("a", "b", "c")
SELECTORS = [
    LabelSelector(),
    NOTHING,
    *map(parse_label_selector, ("app=web", "app in (web,db)", "app!=web", "tier", "app=db,!tier")),
]
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["web", "db"]))
QUERIES = st.builds(
    CountedPods,
    st.lists(
        st.builds(
            PodSelector,
            st.sampled_from(SELECTORS),
            st.frozensets(st.sampled_from(["one", "two"])),
            st.sampled_from([NOTHING, EVERYTHING, parse_label_selector("app=web")]),
        ),
        min_size=1,
        max_size=2,
    ).map(tuple),
    st.booleans(),
)
PODS = st.builds(
    lambda name, namespace, labels, node, is_deleted: Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=name,
            labels=labels,
            deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC) if is_deleted else None,
        ),
        spec=PodSpec(node_name=node),
    ),
    st.sampled_from(["p", "q", "r"]),
    st.sampled_from(["one", "two"]),
    LABELS,
    st.sampled_from(NODES),
    st.booleans(),
)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("pod"), PODS),
        st.tuples(st.just("gone"), PODS),
        st.tuples(st.just("node"), st.sampled_from(NODES)),
        st.tuples(st.just("node gone"), st.sampled_from(NODES)),
        st.tuples(st.just("namespace"), st.tuples(st.sampled_from(["one", "two"]), LABELS)),
    ),
    max_size=20,
)


@given(st.lists(QUERIES, min_size=1, max_size=4), CHANGES)
def test_counts_are_those_of_the_pods_that_are_there(
    queries: list[CountedPods], changes: list[tuple[str, object]]
) -> None:
    columns, asked = Columns(), Columns()
    for kind, what in changes:
        for counted in queries:
            asked.pod_counts.of(counted)
        for each in (columns, asked):
            _change(each, kind, what)
    for counted in queries:
        counts = _plain(columns, counted)
        assert asked.pod_counts.of(counted).tolist() == counts
        slots = asked.pod_counts.column_of(counted).slots()
        assert sorted(slots.tolist()) == [slot for slot, number in enumerate(counts) if number]


def _change(columns: Columns, kind: str, what: object) -> None:
    match kind, what:
        case "pod", Pod():
            columns.put(what)
        case "gone", Pod():
            columns.remove(what)
        case "node", str():
            columns.put(a_node(what))
        case "node gone", str():
            columns.remove(a_node(what))
        case _, (str() as name, dict() as labels):
            columns.put(Namespace(metadata=ObjectMeta(name=name, labels=labels)))
        case _:
            raise AssertionError(kind)


def _plain(columns: Columns, counted: CountedPods) -> list[int]:
    return [
        sum(
            counted.includes(pod, columns.namespace_labels(pod.namespace))
            for pod in (columns.pods_on(name) if name else ())
        )
        for name in columns.index.names
    ]


def test_a_count_that_was_given_up_is_made_again() -> None:
    columns = Columns.of([a_node("a")])
    pod = Pod(
        metadata=ObjectMeta(name="p", namespace="one", uid="p", labels={"app": "web"}),
        spec=PodSpec(node_name="a"),
    )
    columns.put(pod)
    queries = [
        CountedPods((PodSelector(parse_label_selector("app=web"), frozenset({"one", str(n)})),))
        for n in range(KEPT_COUNTS + 2)
    ]
    for counted in queries:
        columns.pod_counts.of(counted)
    columns.remove(pod)
    columns.put(msgspec.structs.replace(pod, metadata=ObjectMeta(name="q", namespace="one")))

    assert {int(columns.pod_counts.of(counted).sum()) for counted in queries} == {0}
