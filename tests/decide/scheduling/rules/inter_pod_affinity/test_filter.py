from random import Random

import msgspec
from hypothesis import given

from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Judgement, Reason, Verdict
from plimsoll.decide.scheduling.rules.inter_pod_affinity.filter import (
    PodAffinityState,
    judge,
    prepare,
)
from plimsoll.decide.scheduling.view import Cluster
from tests.decide.scheduling.columns.clusters import seeds
from tests.decide.scheduling.columns.neighbours import a_crowd, a_neighbour
from tests.decide.scheduling.rules.inter_pod_affinity.builders import (
    HOST,
    a_place,
    a_pod_of,
    far,
    near,
    term,
)


def prepared(pod: Pod, *objects: ApiObject) -> PodAffinityState:
    state = prepare(pod, Cluster.of(objects))
    assert isinstance(state, PodAffinityState)
    return state


def test_a_pod_goes_near_the_pods_that_it_needs() -> None:
    nodes = a_place("n1", "a"), a_place("n2", "a"), a_place("n3", "b"), a_place("n4")
    pod = a_pod_of("web", affinity=near(term("db")))

    state = prepared(pod, *nodes, a_pod_of("db", "db-0", node="n1"))

    assert [judge(state, node).verdict for node in nodes] == [
        Verdict.SUCCESS,
        Verdict.SUCCESS,
        Verdict.UNRESOLVABLE,
        Verdict.UNRESOLVABLE,
    ]


def test_a_pod_that_needs_its_own_kind_may_begin_where_there_is_a_place() -> None:
    nodes = a_place("n1", "a"), a_place("n2")
    pod = a_pod_of("web", affinity=near(term("web")))

    assert [judge(prepared(pod, *nodes), node).is_fit for node in nodes] == [True, False]


def test_one_pod_must_match_all_terms_at_once() -> None:
    node = a_place("n1", "a")
    pod = a_pod_of("web", affinity=near(term("db"), term("cache")))
    others = a_pod_of("db", "d", node="n1"), a_pod_of("cache", "c", node="n1")

    assert not judge(prepared(pod, node, *others), node).is_fit


def test_a_pod_stays_away_from_those_that_it_does_not_want() -> None:
    nodes = a_place("n1"), a_place("n2")
    pod = a_pod_of("web", affinity=far(term("web", HOST)))

    state = prepared(pod, *nodes, a_pod_of("web", "web-0", node="n1"))

    refused, free = (judge(state, node) for node in nodes)
    assert refused.verdict is Verdict.UNSCHEDULABLE
    assert [each.reason for each in refused.findings] == [Reason.POD_ANTI_AFFINITY_CONFLICT]
    assert free.is_fit


def test_a_pod_stays_away_from_those_that_do_not_want_it() -> None:
    nodes = a_place("n1"), a_place("n2")
    other = a_pod_of("db", "db-0", node="n1", affinity=far(term("web", HOST)))

    state = prepared(a_pod_of("web"), *nodes, other)

    assert [judge(state, node).is_fit for node in nodes] == [False, True]


def test_a_pod_that_no_one_cares_for_is_not_concerned() -> None:
    other = a_pod_of("db", "db-0", node="n1", affinity=far(term("cache", HOST)))

    assert prepare(a_pod_of("web"), Cluster.of([a_place("n1"), other])) is NOT_CONCERNED


def test_a_namespace_without_object_is_selected_only_by_the_selector_of_all() -> None:
    without = LabelRequirementSpec(key="team", operator="DoesNotExist")
    node, other = a_place("n1", "a"), a_pod_of("db", "db-0", node="n1", namespace="unknown")
    fits = [
        judge(
            prepared(
                a_pod_of("web", affinity=near(term("db", namespace_selector=selector))),
                node,
                other,
            ),
            node,
        ).is_fit
        for selector in (
            LabelSelectorSpec(),
            LabelSelectorSpec(match_expressions=(without,)),
        )
    ]

    assert fits == [True, False]


def test_a_selector_that_cannot_be_read_leaves_the_pod_waiting() -> None:
    bad = LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="a", operator="Like"),))
    broken = msgspec.structs.replace(term("web"), label_selector=bad)

    found = prepare(a_pod_of("web", affinity=far(broken)), Cluster())

    assert isinstance(found, Judgement)
    assert found.verdict is Verdict.UNRESOLVABLE
    assert found.sentences == (
        'parsing pod: requiredAntiAffinityTerms: "Like" is not a valid label selector operator',
    )


@given(seed=seeds)
def test_pods_that_come_and_go_in_thought_count_like_those_that_are_there(seed: int) -> None:
    chance = Random(seed)
    objects = a_crowd(chance)
    pod = a_neighbour(chance, "new")
    pods = [each for each in objects if isinstance(each, Pod)]
    chance.shuffle(pods)
    rest = [each for each in objects if not isinstance(each, Pod)]
    view = Cluster.of(objects)
    empty = prepare(pod, Cluster.of(rest))
    full = prepare(pod, view)

    if isinstance(empty, Judgement) or isinstance(full, Judgement):
        return
    for other in pods:
        empty = empty.with_pod(other, view.nodes[other.spec.node_name], 1)
        full = full.with_pod(other, view.nodes[other.spec.node_name], -1)
    for node in view.all_nodes():
        assert judge(empty, node) == judge(_of(pod, view), node)
        assert judge(full, node) == judge(_of(pod, Cluster.of(rest)), node)


def _of(pod: Pod, view: Cluster) -> PodAffinityState:
    state = prepare(pod, view)
    assert isinstance(state, PodAffinityState)
    return state
