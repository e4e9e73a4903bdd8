"""What profiles change about decisions."""

import msgspec
import numpy as np
import pytest

from plimsoll.api.core import Taint
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import NodeAffinity, Pod
from plimsoll.api.selectors.node import NodeRequirementSpec, NodeSelectorSpec, NodeTermSpec
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import NodeRule
from plimsoll.decide.scheduling.judge import KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel, NoNode, Placement
from plimsoll.decide.scheduling.profiles.profile import DEFAULT_WEIGHTS, Profile, SchedulerPlugin
from plimsoll.decide.scheduling.profiles.resource_scoring import ResourceScoring, Strategy
from plimsoll.decide.scheduling.rule_fit import ColumnRule, RuleFit, column_rules
from tests.builders import a_node, a_pod

TAINTED = a_node(taints=[Taint(key="dedicated", effect="NoSchedule")])
MOST = Profile(resources=ResourceScoring(Strategy.MOST_ALLOCATED))
SSD = NodeAffinity(
    required=NodeSelectorSpec(
        node_selector_terms=(
            NodeTermSpec(
                match_expressions=(NodeRequirementSpec(key="disk", operator="In", values=("ssd",)),)
            ),
        )
    )
)


def kernel(profile: Profile, *objects: ApiObject) -> Kernel:
    return Kernel(Columns.of(objects), KernelSettings(profile=profile))


def of_scheduler(name: str) -> Pod:
    pod = a_pod(requests={"cpu": "1"})
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, scheduler_name=name))


def test_a_plugin_that_is_not_asked_refuses_no_node() -> None:
    assert isinstance(kernel(Profile(), TAINTED).decide(a_pod()), NoNode)
    lenient = kernel(Profile(without=frozenset({SchedulerPlugin.TAINT_TOLERATION})), TAINTED)
    assert isinstance(lenient.decide(a_pod()), Placement)
    assert lenient.explain_node(a_pod(), TAINTED.name).is_fit


def test_nodes_are_filled_where_the_profile_says_so() -> None:
    busy = a_pod("busy", node="full", requests={"cpu": "4", "memory": "16Gi"})
    cluster = (a_node("empty"), a_node("full"), busy)
    spreading, packing = (kernel(each, *cluster).decide(a_pod()) for each in (Profile(), MOST))
    assert isinstance(spreading, Placement)
    assert isinstance(packing, Placement)
    assert (spreading.node, packing.node) == ("empty", "full")


def test_a_score_counts_by_the_weight_of_the_profile() -> None:
    heavy = Profile(weights={**DEFAULT_WEIGHTS, SchedulerPlugin.NODE_RESOURCES_FIT: 10})
    none = Profile(weights={})
    usual, more, nothing = (
        kernel(each, a_node()).decide(a_pod()) for each in (Profile(), heavy, none)
    )
    assert isinstance(usual, Placement)
    assert isinstance(more, Placement)
    assert isinstance(nothing, Placement)
    fit = more.score - usual.score
    assert fit % 9 == 0
    assert fit > 0
    assert nothing.score == 0


def test_pods_are_judged_by_the_profile_that_they_name() -> None:
    busy = a_pod("busy", node="full", requests={"cpu": "4", "memory": "16Gi"})
    columns = Columns.of([a_node("empty"), a_node("full"), busy])
    both = Kernel(columns, profiles={"packing": KernelSettings(profile=MOST)})
    found = [both.decide(of_scheduler(name)) for name in ("spreading", "packing")]
    assert [each.node for each in found if isinstance(each, Placement)] == ["empty", "full"]


def test_added_affinity_holds_beside_the_pods_own() -> None:
    fast, slow = a_node("fast", labels={"disk": "ssd"}), a_node("slow")
    enforced = kernel(Profile(added_affinity=SSD), fast, slow)
    placed = enforced.decide(a_pod())
    assert isinstance(placed, Placement)
    assert (placed.node, placed.feasible) == ("fast", 1)
    elsewhere = NodeAffinity(
        required=NodeSelectorSpec(
            node_selector_terms=(
                NodeTermSpec(
                    match_expressions=(
                        NodeRequirementSpec(
                            key="kubernetes.io/hostname", operator="In", values=("slow",)
                        ),
                    )
                ),
            )
        )
    )
    refused = enforced.decide(Profile(added_affinity=elsewhere).with_added_affinity(a_pod()))
    assert isinstance(refused, NoNode)
    assert refused.rules == (NodeRule.NODE_AFFINITY,)


@pytest.mark.parametrize(
    ("profile", "fits"),
    [
        pytest.param(Profile(), False, id="usual"),
        pytest.param(Profile(ignored_resources=frozenset({"example.com/gpu"})), True, id="by-name"),
        pytest.param(Profile(ignored_groups=frozenset({"example.com"})), True, id="by-group"),
        pytest.param(Profile(ignored_resources=frozenset({"cpu"})), False, id="not-extended"),
    ],
)
def test_ignored_resources_need_not_be_there(profile: Profile, *, fits: bool) -> None:
    pod = a_pod(requests={"example.com/gpu": "1"})
    assert isinstance(kernel(profile, a_node()).decide(pod), Placement) is fits


class Half:
    """Half of the points everywhere, by a weight of two."""

    def weighted(self, is_feasible: np.typing.NDArray[np.bool_]) -> np.typing.NDArray[np.int64]:
        return np.full(len(is_feasible), 100, np.int64)


class Grumpy:
    """Refuses everything."""

    def judge(self, _pod: Pod) -> RuleFit:
        return RuleFit.of_flags(np.ones(1, np.uint64), Half())


def profiled(profile: Profile) -> RuleFit | None:
    rules: list[tuple[SchedulerPlugin, ColumnRule]] = [
        (SchedulerPlugin.INTER_POD_AFFINITY, Grumpy())
    ]
    (rule,) = column_rules(profile, rules)
    fit = rule.judge(a_pod())
    return fit if isinstance(fit, RuleFit) else None


def test_rules_over_columns_follow_the_profile() -> None:
    name = SchedulerPlugin.INTER_POD_AFFINITY
    heavy = profiled(Profile(weights={name: 6}))
    assert heavy is not None
    assert heavy.score is not None
    assert heavy.score.weighted(np.ones(1, np.bool_)).tolist() == [300]
    lenient = profiled(Profile(without=frozenset({name})))
    assert lenient is not None
    assert lenient.flags is None
    assert lenient.score is not None
    assert profiled(Profile(without=frozenset({name}), weights={})) is None


def test_rules_are_asked_about_the_pod_as_the_profile_has_it() -> None:
    pod = a_pod(requests={"cpu": "1", "example.com/gpu": "1"})
    profile = Profile(ignored_groups=frozenset({"example.com"}), added_affinity=SSD)
    assert profile.as_judged(pod, NodeRule.RESOURCES) == a_pod(requests={"cpu": "1"})
    assert profile.as_judged(pod, NodeRule.NODE_AFFINITY).spec.required_nodes == SSD.required
    assert profile.as_judged(pod, NodeRule.TAINTS) == pod
