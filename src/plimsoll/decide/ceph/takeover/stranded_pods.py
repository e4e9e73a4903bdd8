"""Pods that cannot start where they are, because their node does not serve their volumes any more.

A scheduler whose watch is behind may put a pod on a node that has just given a domain back. While
the domain is fenced, the label comes back for the pod. Once the domain is released, its own nodes
may write, or may soon where a former leader's fence cannot be confirmed: then the label must not
come back. The pod would wait for ever: no kubelet mounts a volume that its node does not reach, and
no scheduler looks at a pod that has a node. So it is failed, as one that its node rejects. It has
never run, and its owner makes another one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from plimsoll.api.meta import Condition, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.ceph.takeover.served_domains import decide_served_domains
from plimsoll.decide.ceph.takeover.served_labels import SERVED, served_prefix
from plimsoll.decide.ceph.takeover.takeovers import find_takeovers
from plimsoll.decide.ceph.takeover.telling import TakeoverReason
from plimsoll.decide.ceph.takeover.view import TakeoverView, is_in_any
from plimsoll.decide.cluster.lost_nodes import DISRUPTION
from plimsoll.decide.plan import Plan
from plimsoll.decide.statuses import status_patch, with_conditions
from plimsoll.decide.workloads.owned import POD, warned

WAITS = "Pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrandedPod:
    pod: Pod
    volume: str
    """One that its node does not reach."""


def find_stranded_pods(view: TakeoverView) -> tuple[StrandedPod, ...]:
    """None while the driver does not say what is fenced, or the map is not understood. A node in a
    fenced domain serves nothing until it is released; its pods wait for that."""
    if view.closed is None or find_takeovers(view).problems:
        return ()
    served, required = _served_labels(view), _labels_by_claim(view)
    found: list[StrandedPod] = []
    for pod in sorted(view.pods, key=lambda pod: pod.key):
        labels = served.get(pod.spec.node_name)
        if labels is None or pod.status.phase != WAITS or pod.is_being_deleted:
            continue
        volumes = (required[claim] for claim in pod.claims if claim in required)
        # A volume that can be reached from several domains needs one of them.
        missed = next((name for name, needed in volumes if needed.isdisjoint(labels)), "")
        if missed:
            found.append(StrandedPod(pod=pod, volume=missed))
    return tuple(found)


def _labels_by_claim(view: TakeoverView) -> Mapping[ObjectKey, tuple[str, frozenset[str]]]:
    """The volume that each claim names, and its labels, if it requires any."""
    required = view.required
    return {
        claim.key: (name, labels)
        for claim in view.claims
        if (labels := required.get(name := claim.spec.volume_name))
    }


def _served_labels(view: TakeoverView) -> Mapping[str, frozenset[str]]:
    """By node, what each has when the controller has done what it decides now."""
    changes = {change.node: change for change in decide_served_domains(view).changes}
    homes, closed = view.homes, (*view.fenced, *(view.closed or ()))
    prefix = served_prefix(view.domains.driver)
    served: dict[str, frozenset[str]] = {}
    for node in view.nodes:
        if node.name not in homes or is_in_any(homes[node.name], closed):
            continue
        has = {
            label
            for label, value in node.metadata.labels.items()
            if label.startswith(prefix) and value == SERVED
        }
        if change := changes.get(node.name):
            has = has.union(change.added).difference(change.removed)
        served[node.name] = frozenset(has)
    return served


def decide_stranded_pod(stranded: StrandedPod, now: datetime) -> Plan:
    """Only on the version that was seen: a pod that has started since goes on."""
    pod = stranded.pod
    message = (
        f"Node {pod.spec.node_name} does not serve the domain of volume {stranded.volume}: it was "
        "given back before this pod came."
    )
    disrupted = Condition(
        type=DISRUPTION,
        status="True",
        reason=TakeoverReason.NOT_SERVED,
        message=message,
        observed_generation=pod.metadata.generation,
        last_transition_time=now,
    )
    status = {
        "phase": "Failed",
        "reason": TakeoverReason.NOT_SERVED.value,
        "message": message,
        "conditions": with_conditions(pod.status.conditions, [disrupted]),
    }
    return Plan(
        reason=TakeoverReason.NOT_SERVED,
        writes=(
            status_patch(POD.resource, pod, status),
            warned(POD, pod, TakeoverReason.NOT_SERVED, message),
        ),
    )
