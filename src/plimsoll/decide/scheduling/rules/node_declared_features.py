"""NodeDeclaredFeatures: what a pod needs of the kubelet must be declared by the node.

A kubelet lists the features that it supports and that not all kubelets do. What a pod asks for
tells which of them it needs. Features that matter only when a pod is resized in place are no
business of the scheduler.
"""

from collections.abc import Iterator

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked, NodeSentence, flags_of
from plimsoll.decide.scheduling.reasons import FIT, Judgement, Reason, unresolvable_node
from plimsoll.decide.scheduling.rule_fit import RuleFit

RESTART_ALL = "RestartAllContainersOnContainerExits"
HOST_NETWORK_USERS = "UserNamespacesHostNetworkSupport"
RESTART_ALL_ACTION = "RestartAllContainers"


def required_features(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    containers = (*spec.containers, *spec.init_containers)
    rules = (rule for each in containers for rule in each.restart_policy_rules)
    if any(rule.action == RESTART_ALL_ACTION for rule in rules):
        yield RESTART_ALL
    if spec.host_network and spec.host_users is False:
        yield HOST_NETWORK_USERS


def judge(pod: Pod, node: Node) -> Judgement:
    if all(feature in node.status.declared_features for feature in required_features(pod)):
        return FIT
    return unresolvable_node(Reason.FEATURE_MISSING, NodeSentence.FEATURES, node.name)


# All nodes at once


class FeatureColumns:
    """Implements ColumnRule."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def judge(self, pod: Pod) -> RuleFit | None:
        index, missing = self._columns.index, 0
        for feature in required_features(pod):
            missing |= index.alive & ~self._columns.features.declaring(feature)
        if not missing:
            return None
        return RuleFit.of_flags(flags_of([(Blocked.FEATURES, missing)], index.size))
