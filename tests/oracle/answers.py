"""The table of oracles: whose name is here is run, all others are listed as `not yet`.

To add one, write a function that takes a case's `input` and returns what its `expect` should be,
and give it a line in `ORACLES`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.oracle import (
    capacity_cases,
    ceph_cases,
    ceph_journal_cases,
    controller_cases,
    hint_cases,
    matching_cases,
    node_rule_cases,
    pod_cases,
    preemption_cases,
    provisioner_cases,
    provisioner_topology_cases,
    quantity_cases,
    queue_cases,
    selector_cases,
    volume_binding_cases,
    volume_filter_cases,
    wakeup_cases,
)
from tests.oracle.comparison import agrees


@dataclass(frozen=True, slots=True)
class Oracle:
    answer: Callable[[Any], Any]
    agrees: Callable[[Any, Any], bool] = agrees
    """(expected, actual): where parts of an answer are free, say so with another function."""


ORACLES = {
    "allowed_topologies": Oracle(selector_cases.allowed_topologies),
    "api_label_keys": Oracle(pod_cases.api_label_keys),
    "backoff": Oracle(queue_cases.backoff),
    "ceph-crush-location": Oracle(ceph_cases.crush_locations),
    "ceph-domain-labels": Oracle(ceph_cases.domain_labels),
    "ceph-journal": Oracle(ceph_journal_cases.journal),
    "ceph-topology": Oracle(ceph_cases.topology),
    "ceph-volid-compose": Oracle(ceph_cases.compose),
    "ceph-volid-decompose": Oracle(ceph_cases.decompose),
    "ep-capacity": Oracle(capacity_cases.ep_capacity, capacity_cases.ep_capacity_agrees),
    "ep-managed-by": Oracle(capacity_cases.ep_managed_by),
    "ep-accessibility": Oracle(provisioner_topology_cases.accessibility),
    "ep-accessibility-seq": Oracle(provisioner_topology_cases.accessibility_seq),
    "ep-delete": Oracle(provisioner_cases.delete),
    "ep-node-affinity": Oracle(provisioner_topology_cases.affinity),
    "ep-node-deployment": Oracle(provisioner_cases.provision),
    "ep-provision": Oracle(provisioner_cases.provision),
    "ep-spread-hash": Oracle(provisioner_topology_cases.spread_hash),
    "ep-volume-accessible": Oracle(provisioner_topology_cases.volume_accessible),
    "filter_score": Oracle(node_rule_cases.filter_score, node_rule_cases.filter_score_agrees),
    "hints": Oracle(hint_cases.hints),
    "label_selector": Oracle(selector_cases.label_selector),
    "label_selector_string": Oracle(selector_cases.label_selector_string),
    "matching": Oracle(matching_cases.matching),
    "matching_controller": Oracle(matching_cases.matching_controller),
    "node_selector": Oracle(selector_cases.node_selector),
    "nodevolumelimits": Oracle(volume_filter_cases.nodevolumelimits),
    "pod_node_affinity": Oracle(selector_cases.pod_node_affinity),
    "pod_requests": Oracle(queue_cases.pod_requests),
    "preemption": Oracle(preemption_cases.preemption, preemption_cases.preemption_agrees),
    "priority_sort": Oracle(queue_cases.priority_sort, queue_cases.priority_sort_agrees),
    "pv_controller_converge": Oracle(controller_cases.pv_controller_converge),
    "pv_controller_sync": Oracle(controller_cases.pv_controller_sync),
    "quantity": Oracle(quantity_cases.quantity),
    "queueing_hints": Oracle(wakeup_cases.queueing_hints),
    "scorer": Oracle(queue_cases.scorer),
    "vb_checkbindings": Oracle(volume_binding_cases.vb_checkbindings),
    "vb_sequence": Oracle(
        volume_binding_cases.vb_sequence, volume_binding_cases.vb_sequence_agrees
    ),
    "volume_node_affinity": Oracle(selector_cases.volume_node_affinity),
    "volumebinding": Oracle(
        volume_binding_cases.volumebinding, volume_binding_cases.volumebinding_agrees
    ),
    "volumerestrictions": Oracle(volume_filter_cases.volumerestrictions),
    "volumezone": Oracle(volume_filter_cases.volumezone),
}
