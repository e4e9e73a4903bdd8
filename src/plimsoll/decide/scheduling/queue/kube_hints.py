"""Which rule looks at which event, and how: kube-scheduler's registrations of queueing hints.

The rules about volumes have tables of their own in `volume_wakeups`.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from plimsoll.decide.scheduling.flags import AnyRule, NodeRule
from plimsoll.decide.scheduling.queue import affinity_wakeups, spread_wakeups
from plimsoll.decide.scheduling.queue.events import ClusterEvent
from plimsoll.decide.scheduling.queue.hints import always, never
from plimsoll.decide.scheduling.queue.node_wakeups import (
    has_more_features,
    has_more_resources,
    is_selected_now,
    is_tolerated_now,
    takes_pods_again,
)
from plimsoll.decide.scheduling.queue.pod_wakeups import (
    asks_for_less,
    frees_ports,
    leaves_place,
    tolerates_closed_nodes,
)


class QueueRule(StrEnum):
    """Plugins that turn pods away without looking at nodes."""

    GATES = "SchedulingGates"
    PREEMPTION = "DefaultPreemption"


Test = Callable[[Any, Any, Any], bool]
"""Whether a change can help a pod: the pod, the object before it and after it, each None where
there was or is none."""
Registrations = Mapping[AnyRule | QueueRule, Test]

REGISTERED: Mapping[ClusterEvent, Registrations] = {
    ClusterEvent.NODE_ADDED: {
        NodeRule.NODE_NAME: always,
        NodeRule.UNSCHEDULABLE: takes_pods_again,
        NodeRule.TAINTS: is_tolerated_now,
        NodeRule.NODE_AFFINITY: is_selected_now,
        NodeRule.PORTS: always,
        NodeRule.RESOURCES: has_more_resources,
        NodeRule.SPREAD: spread_wakeups.changes_domains,
        NodeRule.POD_AFFINITY: affinity_wakeups.changes_topology,
        NodeRule.FEATURES: has_more_features,
    },
    ClusterEvent.NODE_DELETED: {NodeRule.SPREAD: spread_wakeups.changes_domains},
    ClusterEvent.NODE_ALLOCATABLE: {NodeRule.RESOURCES: has_more_resources},
    ClusterEvent.NODE_LABELS: {
        NodeRule.NODE_AFFINITY: is_selected_now,
        NodeRule.SPREAD: spread_wakeups.changes_domains,
        NodeRule.POD_AFFINITY: affinity_wakeups.changes_topology,
    },
    ClusterEvent.NODE_TAINTS: {
        NodeRule.UNSCHEDULABLE: takes_pods_again,
        NodeRule.TAINTS: is_tolerated_now,
        NodeRule.SPREAD: spread_wakeups.changes_domains,
    },
    ClusterEvent.NODE_FEATURES: {NodeRule.FEATURES: has_more_features},
    ClusterEvent.POD_ADDED: {
        NodeRule.SPREAD: spread_wakeups.is_counted,
        NodeRule.POD_AFFINITY: affinity_wakeups.brings_company,
    },
    ClusterEvent.POD_DELETED: {
        NodeRule.PORTS: frees_ports,
        NodeRule.RESOURCES: leaves_place,
        NodeRule.SPREAD: spread_wakeups.is_counted,
        NodeRule.POD_AFFINITY: affinity_wakeups.ends_conflict,
        QueueRule.PREEMPTION: never,
    },
    ClusterEvent.POD_LABELS: {
        NodeRule.SPREAD: spread_wakeups.counts_otherwise,
        NodeRule.POD_AFFINITY: affinity_wakeups.changes_company,
    },
    ClusterEvent.POD_SCALED_DOWN: {NodeRule.RESOURCES: asks_for_less},
    ClusterEvent.OWN_LABELS: {
        NodeRule.SPREAD: spread_wakeups.changes_itself,
        NodeRule.POD_AFFINITY: always,
    },
    ClusterEvent.OWN_SCALED_DOWN: {NodeRule.RESOURCES: always},
    ClusterEvent.OWN_GATES: {QueueRule.GATES: always},
    ClusterEvent.OWN_TOLERATIONS: {
        NodeRule.UNSCHEDULABLE: tolerates_closed_nodes,
        NodeRule.TAINTS: always,
        NodeRule.SPREAD: spread_wakeups.changes_itself,
    },
}
"""An event that is not here wakes no pod."""
NO_REGISTRATIONS: Registrations = {}


def registered_for(event: ClusterEvent) -> Registrations:
    return REGISTERED.get(event, NO_REGISTRATIONS)
