from zlib import crc32

import pytest
from hypothesis import given, settings

from plimsoll.api.core import Node, NodeSpec, Taint
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.binding.bind_volumes import naming_claim
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.resources import Demands
from plimsoll.decide.scheduling.flags import NodeRule
from plimsoll.decide.scheduling.judge import KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel, NoNode, Placement
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.reasons import Reason, Rule
from plimsoll.decide.scheduling.rules import (
    image_locality,
    node_affinity,
    node_resources_balanced_allocation,
    node_resources_fit as resources,
)
from plimsoll.decide.scheduling.rules.inter_pod_affinity import score as pod_affinity
from plimsoll.decide.scheduling.rules.node_affinity import AffinityTerms
from plimsoll.decide.scheduling.rules.pod_topology_spread.filter import find_unreadable_preferences
from plimsoll.decide.scheduling.rules.taint_toleration import SOFT, tolerates_softly
from plimsoll.decide.scheduling.rules.volume_binding.score import DEFAULT_SHAPE, score
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import PodVolumes
from plimsoll.decide.scheduling.view import Cluster
from tests.builders import (
    HOSTNAME,
    ZONE,
    a_capacity,
    a_claim,
    a_class,
    a_driver,
    a_node,
    a_pod,
    a_volume,
)
from tests.decide.scheduling.columns import plain
from tests.decide.scheduling.columns.clusters import Chance, a_new_pod, a_random_cluster, seeds

NO_PROVISIONER = "kubernetes.io/no-provisioner"


def decide(*objects: ApiObject, pod: Pod) -> Placement | NoNode:
    return Kernel(Columns.of(objects)).decide(pod)


def chosen(*objects: ApiObject, pod: Pod) -> str:
    found = decide(*objects, pod=pod)
    return found.node if isinstance(found, Placement) else found.message


def test_the_emptier_node_is_chosen() -> None:
    running = a_pod("p", node="a", requests={"cpu": "4", "memory": "16Gi"})

    assert chosen(a_node("a"), a_node("b"), running, pod=a_pod(requests={"cpu": "1"})) == "b"


def attempts_of(pod: Pod, *nodes: Node, count: int = 4) -> list[str]:
    kernel = Kernel(Columns.of(nodes))
    return [node_of(kernel.decide(pod, attempt=number)) for number in range(count)]


def node_of(found: Placement | NoNode) -> str:
    return found.node if isinstance(found, Placement) else found.message


def test_of_equal_nodes_each_attempt_takes_the_next_by_name() -> None:
    tried = attempts_of(a_pod(), a_node("c"), a_node("a"), a_node("b"))

    assert sorted(tried[:3]) == ["a", "b", "c"]
    assert tried[3] == tried[0]
    assert "".join(tried) in "abcabc"


def test_the_same_attempt_makes_the_same_choice_whatever_order_the_nodes_came_in() -> None:
    nodes = [a_node(name) for name in "abcde"]

    assert attempts_of(a_pod(), *nodes) == attempts_of(a_pod(), *reversed(nodes))


def test_pods_begin_at_different_ones_of_equal_nodes() -> None:
    nodes = [a_node(name) for name in "abcde"]
    firsts = {attempts_of(a_pod(f"p-{number}"), *nodes)[0] for number in range(40)}

    assert firsts == set("abcde")


def test_a_refused_node_is_chosen_only_where_there_is_no_other() -> None:
    running = a_pod("p", node="fuller", requests={"cpu": "4", "memory": "16Gi"})
    kernel = Kernel(Columns.of([a_node("fuller"), a_node("emptier"), running]))
    pod = a_pod(requests={"cpu": "1"})

    assert node_of(kernel.decide(pod)) == "emptier"
    assert node_of(kernel.decide(pod, refused=["emptier"])) == "fuller"
    assert node_of(kernel.decide(pod, refused=["emptier", "fuller"])) == "emptier"
    assert node_of(kernel.decide(pod, refused=["fuller", "emptier"])) == "fuller"


def test_a_refused_node_with_a_volume_that_exists_comes_after_others() -> None:
    objects = [
        a_node("a"),
        a_node("b"),
        a_class(),
        a_claim("data"),
        a_volume(reachable_from={HOSTNAME: "a"}),
    ]
    kernel = Kernel(Columns.of(objects))

    assert node_of(kernel.decide(a_pod(claims=["data"]))) == "a"
    assert node_of(kernel.decide(a_pod(claims=["data"]), refused=["a"])) == "b"


def test_a_refused_node_that_will_not_do_is_still_not_chosen() -> None:
    kernel = Kernel(Columns.of([a_node("small", cpu="1")]))

    assert isinstance(kernel.decide(a_pod(requests={"cpu": "2"}), refused=["small"]), NoNode)


def test_a_node_with_a_volume_beats_one_where_it_would_have_to_be_made() -> None:
    objects = [
        a_node("empty"),
        a_node("full", cpu="1"),
        a_class(),
        a_claim("data", gib=5),
        a_volume("v", gib=5, reachable_from={HOSTNAME: "full"}),
    ]

    found = decide(*objects, pod=a_pod(claims=["data"]))

    assert isinstance(found, Placement)
    assert found.node == "full"
    assert [binding.volume.name for binding in found.volumes.static] == ["v"]
    compatible = Kernel(Columns.of(objects), KernelSettings(Policy.COMPATIBLE))
    other = compatible.decide(a_pod(claims=["data"]))
    assert isinstance(other, Placement)
    assert other.node == "empty"


def test_volumes_are_made_where_most_is_left() -> None:
    capacities = [
        a_capacity(name, segment={HOSTNAME: name}, gib=gib) for name, gib in (("a", 10), ("b", 90))
    ]
    objects = [a_node("a"), a_node("b"), a_class(), a_driver(), *capacities, a_claim("data", gib=5)]

    found = decide(*objects, pod=a_pod(claims=["data"]))

    assert isinstance(found, Placement)
    assert found.node == "b"
    assert [made.capacity for made in found.volumes.provisions] == [capacities[1]]
    assert (found.feasible, found.nodes) == (2, 2)


def test_who_is_turned_away_is_told_how_many_nodes_said_what() -> None:
    closed = Node(metadata=a_node("a").metadata, spec=NodeSpec(unschedulable=True))
    capacity = a_capacity(segment={}, gib=1)
    nodes = [closed, a_node("b", cpu="1"), a_node("c", cpu="1"), a_node("d")]
    objects = [*nodes, a_class(), a_driver(), capacity, a_claim("data", gib=5)]

    found = decide(*objects, pod=a_pod(claims=["data"], requests={"cpu": "2"}))

    assert isinstance(found, NoNode)
    assert found.message == (
        "0/4 nodes are available: 1 node(s) did not have enough free storage, "
        "1 node(s) were unschedulable, 2 Insufficient cpu. "
        "[CapacityTooSmall, InsufficientResource, NodeUnschedulable; "
        "claim data needs 5Gi, at most 1Gi can be made]"
    )
    assert found.rules == (NodeRule.UNSCHEDULABLE, NodeRule.RESOURCES, Rule.VOLUME_BINDING)
    assert found.reasons[Reason.INSUFFICIENT_RESOURCE] == 2


def test_a_pod_whose_claims_are_not_ready_is_not_held_against_the_nodes() -> None:
    class_ = a_class(binding_mode="Immediate")

    found = decide(a_node("a"), class_, a_claim("data"), pod=a_pod(claims=["data"]))

    assert isinstance(found, NoNode)
    assert found.message == (
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. "
        "[UnboundImmediateClaim]"
    )
    assert found.rules == (Rule.VOLUME_BINDING,)


def test_there_may_be_no_node_at_all() -> None:
    found = decide(pod=a_pod())

    assert isinstance(found, NoNode)
    assert found.message == "0/0 nodes are available."


def test_a_pod_is_explained_node_by_node() -> None:
    objects = [a_node("a", cpu="1"), a_node("b")]
    kernel = Kernel(Columns.of(objects))
    pod = a_pod(requests={"cpu": "2"})

    assert [f.reason for f in kernel.explain_node(pod, "a").findings] == [
        Reason.INSUFFICIENT_RESOURCE
    ]
    assert kernel.explain_node(pod, "b").is_fit
    with pytest.raises(KeyError):
        kernel.explain_node(pod, "c")


def test_a_node_for_which_volumes_can_be_assigned_is_explained_as_fit() -> None:
    node = {HOSTNAME: "node-1"}
    objects = [
        a_node(),
        a_class(provisioner=NO_PROVISIONER),
        a_volume(
            "both", gib=5, reachable_from=node, access_modes=("ReadWriteOnce", "ReadOnlyMany")
        ),
        a_volume("plain", gib=9, reachable_from=node),
        a_claim("writes", gib=1),
        a_claim("reads", gib=2, access_modes=("ReadOnlyMany",)),
    ]
    pod, columns = a_pod(claims=["writes", "reads"]), Columns.of(objects)

    assert Kernel(columns).explain_node(pod, "node-1").is_fit
    compatible = Kernel(columns, KernelSettings(Policy.COMPATIBLE))
    assert not compatible.explain_node(pod, "node-1").is_fit


def test_what_is_tried_on_a_fork_stays_there() -> None:
    kernel = Kernel(Columns.of([a_node("a", cpu="1")]))
    pod = a_pod(requests={"cpu": "2"})
    fork = kernel.fork()
    fork.columns.put(a_node("b"))

    assert isinstance(fork.decide(pod), Placement)
    assert isinstance(kernel.decide(pod), NoNode)


def test_volumes_that_were_given_away_are_not_given_twice() -> None:
    kernel = Kernel(Columns.of([a_node("a"), a_node("b"), a_class(provisioner=NO_PROVISIONER)]))
    for name in ("a", "b"):
        kernel.columns.put(a_volume(f"on-{name}", gib=5, reachable_from={HOSTNAME: name}))
    placed = []
    for number in range(3):
        claim = a_claim(f"data-{number}", gib=5)
        kernel.columns.put(claim)
        found = kernel.decide(a_pod(f"p-{number}", claims=[claim.name]))
        if isinstance(found, Placement):
            placed.append(found.node)
            kernel.columns.put(naming_claim(found.volumes.static[0].volume, claim))

    assert placed == ["a", "b"]


def best_node(pod: Pod, view: Cluster, attempt: int, refused: list[str]) -> str | None:
    """The choice of kube-scheduler's rules, worked out node by node."""
    totals = plain_totals(pod, view)
    if len(totals) > 1 and (node_affinity.find_unreadable(pod) or find_unreadable_preferences(pod)):
        # Nodes are compared only where there are several.
        return None
    others = {name: total for name, total in totals.items() if name not in refused}
    if not others:
        return next((name for name in refused if name in totals), None)
    equal = sorted(name for name, total in others.items() if total == max(others.values()))
    return equal[(crc32(pod.uid.encode()) + attempt) % len(equal)]


def plain_totals(pod: Pod, view: Cluster) -> dict[str, int]:
    """By name of every node that will do."""
    feasible = {
        node.name: node
        for node in view.nodes.values()
        if all(judgement.is_fit for judgement in plain.judgements(pod, node, view).values())
    }
    terms, wanted = AffinityTerms.of(pod), Demands.of_waiting(pod)
    taints = {
        name: sum(t.effect == SOFT and not tolerates_softly(pod, t) for t in node.spec.taints)
        for name, node in feasible.items()
    }
    preferred = {name: terms.preferred.score(node.labels, name) for name, node in feasible.items()}
    reports = image_locality.read_reports(view.nodes.values())
    spread = plain.spread_scores(pod, [*feasible.values()], view)
    weights = pod_affinity.prepare_score(pod, view)
    neighbours = pod_affinity.normalized(
        {name: pod_affinity.score(weights, node) for name, node in feasible.items()}
    )
    totals = {}
    for name, node in feasible.items():
        load, volumes = plain.load_of(name, view), plain.volumes_for(pod, node, view)
        totals[name] = (
            resources.score(wanted, node, load)
            + node_resources_balanced_allocation.score(wanted, node, load)
            + 3 * (100 - 100 * taints[name] // max(1, *taints.values(), 1))
            + 2 * (100 * preferred[name] // max(1, *preferred.values(), 1))
            + 2 * spread.get(name, 0)
            + pod_affinity.WEIGHT * neighbours[name]
            + image_locality.score(pod, node, reports, len(view.nodes))
            + (score(volumes, DEFAULT_SHAPE) if isinstance(volumes, PodVolumes) else 0)
        )
    return totals


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_the_compatible_choice_is_that_of_the_plain_rules(seed: int) -> None:
    chance = Chance(seed)
    objects = a_random_cluster(chance)
    pod = a_new_pod(chance, objects)
    view = plain.cluster_of(objects)

    attempt, refused = (
        chance.randint(0, 5),
        chance.some(sorted(node.name for node in view.nodes.values())),
    )

    kernel = Kernel(Columns.of(objects), KernelSettings(Policy.COMPATIBLE))
    found = kernel.decide(pod, attempt=attempt, refused=refused)

    is_rejected = plain.rejection(pod, view)
    expected = None if is_rejected else best_node(pod, view, attempt, refused)
    assert (found.node if isinstance(found, Placement) else None) == expected


def test_soft_taints_and_preferences_outweigh_a_little_room() -> None:
    soft = Taint(key="slow", effect=SOFT)
    nodes = [a_node("a", taints=(soft,)), a_node("b", labels={ZONE: "a"})]
    running = a_pod("p", node="b", requests={"cpu": "4"})

    assert chosen(*nodes, running, pod=a_pod(requests={"cpu": "1"})) == "b"
