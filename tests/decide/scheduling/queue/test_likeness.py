"""Pods that can be asked about together."""

from collections.abc import Hashable

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.flags import AnyRule, NodeRule
from plimsoll.decide.scheduling.queue.likeness import likeness, spec_likeness
from plimsoll.decide.scheduling.reasons import Rule
from tests.builders import a_pod
from tests.decide.scheduling.queue.builders import near, spread, term


def of(rule: AnyRule, pod: Pod) -> Hashable:
    return likeness(rule, pod, spec_likeness(pod))


def test_replicas_are_alike_for_rules_about_nodes() -> None:
    one, other = a_pod("web-0", labels={"n": "0"}), a_pod("web-1", labels={"n": "1"})
    assert of(NodeRule.RESOURCES, one) == of(NodeRule.RESOURCES, other)
    assert of(NodeRule.RESOURCES, one) != of(NodeRule.RESOURCES, a_pod(requests={"cpu": "1"}))


def test_terms_and_namespaces_tell_pods_apart_for_rules_about_other_pods() -> None:
    one, other = a_pod("web-0", labels={"n": "0"}), a_pod("web-1", labels={"n": "1"})
    assert of(NodeRule.POD_AFFINITY, one) == of(NodeRule.POD_AFFINITY, other)
    assert of(NodeRule.POD_AFFINITY, a_pod()) != of(NodeRule.POD_AFFINITY, near(term()))
    assert of(NodeRule.SPREAD, one) != of(NodeRule.SPREAD, a_pod(namespace="away"))


def test_pods_that_count_only_their_like_are_told_apart_by_the_labels_that_say_so() -> None:
    pods = [
        spread(a_pod(labels={"revision": revision}), match_label_keys=("revision",))
        for revision in "aab"
    ]
    first, same, other = (of(NodeRule.SPREAD, pod) for pod in pods)
    assert first == same
    assert first != other


def test_every_pod_has_claims_of_its_own() -> None:
    assert of(Rule.VOLUME_BINDING, a_pod()) != of(Rule.VOLUME_BINDING, a_pod("web-1"))
