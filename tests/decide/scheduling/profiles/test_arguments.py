"""What the arguments of plugins change in decisions."""

from dataclasses import replace

import numpy as np

from plimsoll.api.core import Node, NodeStatus, Service, ServiceSpec
from plimsoll.api.meta import ObjectMeta
from plimsoll.api.pods import TopologySpreadConstraint
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel, NoNode, Placement
from plimsoll.decide.scheduling.profiles.profile import (
    DEFAULT_PROFILE,
    AffinityArguments,
    Profile,
    SpreadArguments,
)
from plimsoll.decide.scheduling.rule_fit import Rejected
from tests.decide.scheduling.rules.inter_pod_affinity.builders import (
    ZONE,
    a_pod_of,
    near,
    rather_near,
    term,
)


def a_place(name: str, zone: str, pods: str = "9") -> Node:
    status = NodeStatus(allocatable={"cpu": "4", "memory": "8Gi", "pods": pods})
    return Node(metadata=ObjectMeta(name=name, labels={ZONE: zone}), status=status)


PLACES = a_place("n1", "a"), a_place("n2", "b")


def a_kernel(columns: Columns, profile: Profile) -> Kernel:
    return Kernel(columns, KernelSettings(profile=profile))


def totals(kernel: Kernel) -> list[int]:
    judged = kernel.judge(a_pod_of("web"))
    assert not isinstance(judged, Rejected)
    return [int(total) for total in judged.totals()[: len(PLACES)]]


def test_required_terms_of_others_weigh_as_the_profile_says() -> None:
    wants = a_pod_of("db", "db-0", node="n1", affinity=near(term("web")))
    prefers = a_pod_of("cache", "cache-0", node="n2", affinity=rather_near(5, term("web")))
    columns = Columns.of([*PLACES, wants, prefers])
    heavy = replace(DEFAULT_PROFILE, affinity=AffinityArguments(hard_weight=50))

    usual, other = totals(a_kernel(columns, DEFAULT_PROFILE)), totals(a_kernel(columns, heavy))

    assert usual[0] < usual[1]
    assert other[0] > other[1]


def test_preferences_of_others_can_be_left_out() -> None:
    prefers = a_pod_of("cache", "cache-0", node="n2", affinity=rather_near(5, term("web")))
    columns = Columns.of([*PLACES, prefers])
    arguments = AffinityArguments(ignores_preferences_of_others=True)
    deaf = a_kernel(columns, replace(DEFAULT_PROFILE, affinity=arguments))

    assert np.ptp(totals(deaf)) < np.ptp(totals(a_kernel(columns, DEFAULT_PROFILE)))


def test_constraints_for_pods_without_any_can_be_hard() -> None:
    hard = TopologySpreadConstraint(
        max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule"
    )
    profile = replace(DEFAULT_PROFILE, spread=SpreadArguments(constraints=(hard,)))
    service = Service(
        metadata=ObjectMeta(name="web", namespace="default"),
        spec=ServiceSpec(selector={"app": "web"}),
    )
    there = a_pod_of("web", "web-1", node="n1")
    columns = Columns.of([*PLACES, service, there])
    pod = a_pod_of("web")

    first = a_kernel(columns, profile).decide(pod)
    columns.remove(PLACES[1])
    columns.put(a_place("n3", "a"))
    columns.put(a_place("n4", "b", pods="0"))
    second = a_kernel(columns, profile).decide(pod)

    assert isinstance(first, Placement)
    assert first.node == "n2"
    assert isinstance(second, NoNode)
    assert "topology spread constraints" in second.message
