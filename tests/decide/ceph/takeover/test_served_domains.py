from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod, PodStatus
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.fencing import count_on_confirmed
from plimsoll.decide.ceph.takeover.served_domains import (
    KeptLabel,
    NodeLabelChange,
    ServedDomains,
    decide_served_domains,
)
from plimsoll.decide.ceph.takeover.takeover_map import TakeoverMap
from plimsoll.decide.ceph.takeover.view import TakeoverView
from tests.builders import a_claim, a_node, a_pod, a_volume

DRIVER = "rbd.csi.ceph.com"
DOMAINS = DomainLabels(driver=DRIVER, labels=("x/zone", "x/rack"))


def serves(*paths: str) -> tuple[str, ...]:
    return tuple(f"topology.{DRIVER}/serves.{path}" for path in paths)


def node(name: str, zone: str, rack: str, *served: str) -> Node:
    home = {"x/zone": zone, "x/rack": rack}
    return a_node(name, labels=home | dict.fromkeys(serves(*served), "true"))


def volume_of(claim: str, path: str) -> PersistentVolume:
    required = dict.fromkeys(serves(path), "true")
    return a_volume(f"volume-{claim}", claim=a_claim(claim), reachable_from=required)


def taking(**targets: tuple[str, ...]) -> TakeoverMap:
    return TakeoverMap(
        targets_by_source={name.replace("_", "."): paths for name, paths in targets.items()}
    )


A1, B1 = node("a1", "a", "r1", "a", "a.r1"), node("b1", "b", "r1", "b", "b.r1")
C1 = node("c1", "c", "r1", "c", "c.r1")
VIEW = TakeoverView(domains=DOMAINS, nodes=(A1, B1, C1))
NOTHING = ServedDomains()
GONE_FROM_B1 = NodeLabelChange(node="b1", removed=serves("b", "b.r1"))


def test_a_node_serves_the_domains_that_it_is_in() -> None:
    assert decide_served_domains(replace(VIEW, nodes=(node("a1", "a", "r1"),))) == ServedDomains(
        changes=(NodeLabelChange(node="a1", added=serves("a", "a.r1")),)
    )
    assert decide_served_domains(VIEW) == NOTHING


def test_a_node_whose_driver_keeps_its_old_domain_serves_that_one() -> None:
    """Its labels were changed, and the driver is registered with what they told before."""
    registered = {f"topology.{DRIVER}/zone": "a", f"topology.{DRIVER}/rack": "r1"}
    moved = a_node("a1", labels={"x/zone": "b", "x/rack": "r1"} | registered)
    decided = decide_served_domains(replace(VIEW, nodes=(moved,)))
    assert decided.changes == (NodeLabelChange(node="a1", added=serves("a", "a.r1")),)


def test_a_node_without_domain_serves_nothing() -> None:
    lost = a_node("n1", labels=dict.fromkeys(serves("a"), "true"))
    decided = decide_served_domains(replace(VIEW, nodes=(lost,)))
    assert decided.changes == (NodeLabelChange(node="n1", removed=serves("a")),)


def test_a_lost_domain_is_taken_over_with_all_that_is_in_it() -> None:
    view = replace(VIEW, takeover=taking(b=("a",)), fenced=[("b",)])
    assert decide_served_domains(view) == ServedDomains(
        changes=(NodeLabelChange(node="a1", added=serves("b", "b.r1")), GONE_FROM_B1)
    )


def test_all_means_every_node_that_is_not_lost() -> None:
    view = replace(VIEW, takeover=taking(b=("all",)), fenced=[("b",)])
    changes = decide_served_domains(view).changes
    assert [change.node for change in changes] == ["a1", "b1", "c1"]


def test_one_rack_can_be_taken_over_by_another() -> None:
    b2 = node("b2", "b", "r2", "b", "b.r2")
    view = replace(VIEW, nodes=(A1, B1, b2), takeover=taking(b_r1=("r2",)), fenced=[("b", "r1")])
    assert decide_served_domains(view).changes == (
        GONE_FROM_B1,
        NodeLabelChange(node="b2", added=serves("b.r1")),
    )


def test_nothing_is_advertised_before_the_domain_is_fenced() -> None:
    view = replace(VIEW, takeover=taking(b=("a",)), fenced=[("b", "r1")])
    assert decide_served_domains(view) == ServedDomains(
        changes=(GONE_FROM_B1,),
        waiting=("The takeover of b waits until the domain is fenced.",),
    )


def test_a_fence_of_a_wider_domain_is_enough() -> None:
    view = replace(VIEW, takeover=taking(b_r1=("a",)), fenced=[("b",)])
    assert decide_served_domains(view).changes == (
        NodeLabelChange(node="a1", added=serves("b.r1")),
        GONE_FROM_B1,
    )


def test_a_node_that_is_fenced_serves_nothing_although_pods_are_on_it() -> None:
    pods = (a_pod("db-0", claims=["data"], node="b1"),)
    for view in (replace(VIEW, fenced=[("b",)]), replace(VIEW, closed=[("b",)])):
        used = replace(view, volumes=(volume_of("data", "b"),), pods=pods)
        assert decide_served_domains(used).changes == (GONE_FROM_B1,)


def test_it_serves_its_domains_again_when_the_fence_has_ended() -> None:
    back = node("b1", "b", "r1")
    assert decide_served_domains(replace(VIEW, nodes=(A1, back, C1))).changes == (
        NodeLabelChange(node="b1", added=serves("b", "b.r1")),
    )


def test_while_the_driver_does_not_say_what_is_fenced_nodes_that_may_be_stay_as_they_are() -> None:
    back, new = node("b1", "b", "r1"), node("c2", "c", "r1")
    view = replace(VIEW, nodes=(A1, back, new), takeover=taking(b=("a",)), closed=None)
    assert decide_served_domains(view).changes == (
        NodeLabelChange(node="c2", added=serves("c", "c.r1")),
    )


def test_what_was_advertised_stays_when_the_fence_is_forgotten() -> None:
    a1 = node("a1", "a", "r1", "a", "a.r1", "b", "b.r1")
    view = replace(VIEW, nodes=(a1, B1, C1), takeover=taking(b=("a",)))
    assert decide_served_domains(view).changes == ()


def test_a_domain_whose_nodes_are_gone_is_known_by_its_volumes() -> None:
    view = replace(
        VIEW,
        nodes=(A1,),
        volumes=(volume_of("data", "b.r7"),),
        takeover=taking(b=("a",)),
        fenced=[("b",)],
    )
    assert decide_served_domains(view).changes == (
        NodeLabelChange(node="a1", added=serves("b", "b.r7")),
    )


TAKEN = node("a1", "a", "r1", "a", "a.r1", "b", "b.r1")
RUNNING = a_pod("db-0", claims=["data"], node="a1")


def test_a_domain_that_no_pod_depends_on_is_given_back_at_once() -> None:
    view = replace(VIEW, nodes=(TAKEN, B1), volumes=(volume_of("data", "b"),))
    assert decide_served_domains(view).changes == (
        NodeLabelChange(node="a1", removed=serves("b", "b.r1")),
    )


def test_giving_back_waits_for_the_pods_that_depend_on_it() -> None:
    other = a_pod("db-1", claims=["data"], node="a1")
    view = replace(
        VIEW, nodes=(TAKEN, B1), volumes=(volume_of("data", "b.r1"),), pods=(other, RUNNING)
    )
    (label,) = serves("b.r1")
    reason = "Node a1 still serves b.r1: pods default/db-0, default/db-1 use volumes of it."
    assert decide_served_domains(view).changes == (
        NodeLabelChange(
            node="a1", removed=serves("b"), kept=(KeptLabel(label=label, reason=reason),)
        ),
    )


def test_a_pod_that_was_on_its_way_when_the_label_left_gets_it_back() -> None:
    """The scheduler has put it there by what the node served a moment ago."""
    view = replace(
        VIEW, volumes=(volume_of("data", "b"),), pods=(RUNNING,), fenced=[("b",)], closed=()
    )
    back = NodeLabelChange(node="a1", added=serves("b"))
    assert decide_served_domains(view).changes == (back, GONE_FROM_B1)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"fenced": []}, id="the-domain-is-released"),
        pytest.param({"takeover": taking(b=("c",))}, id="the-map-gives-it-to-others"),
        pytest.param({"takeover": taking(b=("nowhere",))}, id="the-map-is-not-understood"),
        pytest.param({"fenced": [("a",), ("b",)]}, id="the-node-is-fenced-itself"),
    ],
)
def test_no_pod_gets_a_label_back_unless_its_domain_is_being_given_back(
    changed: dict[str, Any],
) -> None:
    view = replace(VIEW, volumes=(volume_of("data", "b"),), pods=(RUNNING,), fenced=[("b",)])
    changes = decide_served_domains(replace(view, **changed)).changes
    assert all(not change.added for change in changes if change.node == "a1")


def test_no_label_comes_back_by_a_fence_that_a_former_leader_may_end() -> None:
    view = replace(VIEW, volumes=(volume_of("data", "b"),), pods=(RUNNING,), fenced=[("b",)])
    counted = count_on_confirmed(view, confirmed=())
    assert decide_served_domains(counted).changes == (GONE_FROM_B1,)
    assert decide_served_domains(count_on_confirmed(view, confirmed={("b",)})).changes == (
        NodeLabelChange(node="a1", added=serves("b")),
        GONE_FROM_B1,
    )


def test_a_narrower_takeover_waits_while_a_former_leader_may_end_the_wider_fence() -> None:
    view = replace(VIEW, takeover=taking(b_r1=("a",)), fenced=[("b",)])
    decided = decide_served_domains(count_on_confirmed(view, confirmed=()))
    assert decided.changes == (GONE_FROM_B1,)
    assert decided.waiting == ("The takeover of b.r1 waits until the domain is fenced.",)


def finished(pod: Pod) -> Pod:
    return Pod(metadata=pod.metadata, spec=pod.spec, status=PodStatus(phase="Succeeded"))


def test_pods_that_are_finished_or_elsewhere_hold_nothing() -> None:
    pods = finished(RUNNING), a_pod("db-1", claims=["data"], node="b1"), a_pod("x", node="a1")
    view = replace(VIEW, nodes=(TAKEN, B1), volumes=(volume_of("data", "b"),), pods=pods)
    assert decide_served_domains(view).changes == (
        NodeLabelChange(node="a1", removed=serves("b", "b.r1")),
    )


def test_a_map_that_cannot_be_read_takes_nothing_away() -> None:
    new = node("c2", "c", "r1")
    view = replace(VIEW, nodes=(TAKEN, B1, new), map_problem="version 3 is not known; 2 is")
    decided = decide_served_domains(view)
    assert decided.problems == ("version 3 is not known; 2 is",)
    assert [(change.node, change.removed) for change in decided.changes] == [("a1", ()), ("c2", ())]
    assert decided.changes[1].added == serves("c", "c.r1")


def test_while_the_map_is_not_understood_nothing_is_removed() -> None:
    view = replace(VIEW, nodes=(TAKEN, B1), takeover=taking(r1=("a",), b=("nowhere",)))
    decided = decide_served_domains(view)
    assert decided.problems == (
        "Takeover of b: no node is in nowhere.",
        "Takeover of r1: 'r1' may be a.r1 or b.r1; name the whole path.",
    )
    (change,) = decided.changes
    assert change.removed == ()
    assert [kept.label for kept in change.kept] == list(serves("b", "b.r1"))
    assert change.kept[0].reason == (
        "Node a1 still serves b: the map cannot be understood as a whole."
    )


ZONES = st.sampled_from("abc")
TAKEOVERS = st.dictionaries(ZONES, st.lists(st.sampled_from("abc"), min_size=1).map(tuple))


@given(
    takeover=TAKEOVERS,
    fenced=st.sets(ZONES),
    runs_on=st.sampled_from(["a1", "b1", "c1"]),
    lost=ZONES,
)
def test_what_is_decided_holds_after_it_is_done(
    takeover: dict[str, tuple[str, ...]], fenced: set[str], runs_on: str, lost: str
) -> None:
    """Deciding again changes nothing, and pods outside of fenced domains keep their labels."""
    view = replace(
        VIEW,
        takeover=TakeoverMap(targets_by_source=takeover),
        fenced=[(zone,) for zone in fenced],
        volumes=(volume_of("data", lost),),
        pods=(a_pod("db-0", claims=["data"], node=runs_on),),
    )
    before = {item.name: set(item.metadata.labels) for item in view.nodes}
    done = {change.node: change for change in decide_served_domains(view).changes}
    after = []
    for item in view.nodes:
        change = done.get(item.name, NodeLabelChange(node=item.name))
        labels = (before[item.name] | set(change.added)) - set(change.removed)
        values = {label: item.metadata.labels.get(label, "true") for label in labels}
        after.append(a_node(item.name, labels=values))
        if item.name == runs_on and item.metadata.labels["x/zone"] not in fenced:
            (needed,) = serves(lost)
            assert needed in labels or needed not in before[item.name]
    again = decide_served_domains(replace(view, nodes=tuple(after)))
    assert all(not change.added and not change.removed for change in again.changes)
