"""Which changes of the cluster can help a pod that no node was good enough for, by any rule.

The rules about volumes answer in `decide.scheduling.queue.volume_wakeups`, those about nodes here;
both as kube-scheduler does. Beyond that a pod is left alone where the object has nothing to do with
it, and one with claims is woken when the capacity of a driver does not count any more, or when
volumes that did not fit together may do so.
"""

from collections.abc import Callable, Mapping

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.storage import CSIDriver, CSIStorageCapacity, StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.capacity.pools import POOLS, find_class_pool, find_pools
from plimsoll.decide.capacity.tokens import find_token
from plimsoll.decide.scheduling.columns.resources import PODS, Demands, Load, NodeResources
from plimsoll.decide.scheduling.flags import AnyRule, NodeRule
from plimsoll.decide.scheduling.queue.volume_wakeups import (
    Hint,
    QueueingHint,
    after_add,
    after_delete,
    after_update,
)
from plimsoll.decide.scheduling.reasons import Rule
from plimsoll.decide.scheduling.rules import node_affinity, node_resources_fit, taint_toleration
from plimsoll.decide.scheduling.rules.node_affinity import AffinityTerms
from plimsoll.decide.scheduling.view import ClusterView

NodeTest = Callable[[Pod, Node | None, Node], bool]
"""Whether a node that came (before: None) or changed can help the pod."""


def helps(rule: AnyRule, pod: Pod, before: ApiObject | None, after: ApiObject | None) -> bool:
    """Whether the rule might judge the pod otherwise; None: the object was not or is no more."""
    is_about_claims = rule is Rule.VOLUME_BINDING and bool(pod.claims)
    if is_about_claims and (_stops_counting(before, after) or _holds_more_together(before, after)):
        return True
    if isinstance(rule, Rule):
        answer = _asked_of_volumes(rule, pod, before, after)
        return answer is not None and answer.hint is Hint.WAKE
    match after or before:
        case Node() if isinstance(after, Node):
            return NODE_TESTS[rule](pod, before if isinstance(before, Node) else None, after)
        case Pod() if rule is NodeRule.RESOURCES and isinstance(before, Pod):
            return _frees_resources(pod, before, after if isinstance(after, Pod) else None)
        case _:
            return False


def may_help_any_pod(before: ApiObject | None, after: ApiObject | None) -> bool:
    """False for the many changes that no rule looks at, such as the heartbeats of nodes."""
    match before, after:
        case Node(), Node():
            return _what_counts(before) != _what_counts(after)
        case Pod(), Pod():
            return bool(after.spec.node_name) and _takes(before) != _takes(after)
        case Pod(), None:
            return bool(before.spec.node_name or before.status.nominated_node_name)
        case None, Pod():
            return False
        case _:
            return before != after


def _what_counts(node: Node) -> tuple[object, ...]:
    return node.labels, node.spec.taints, node.spec.unschedulable, node.status.allocatable


def _takes(pod: Pod) -> tuple[object, ...]:
    """Everything that says how much of its node the pod takes."""
    spec, status = pod.spec, pod.status
    granted = [
        (each.name, each.allocated_resources, each.resources)
        for each in (*status.container_statuses, *status.init_container_statuses)
    ]
    resizing = [each for each in status.conditions if each.type == "PodResizePending"]
    own = (spec.node_name, spec.containers, spec.init_containers, spec.overhead, spec.resources)
    return *own, granted, resizing, status.resources, status.allocated_resources


def concerns(
    pod: Pod, before: ApiObject | None, after: ApiObject | None, view: ClusterView
) -> bool:
    """Whether what changed has to do with this pod. A class, a capacity or a volume does if a
    claim of the pod asks for the class or has the volume; everything else does."""
    claims = [claim for key in pod.claims if (claim := view.claim(key)) is not None]
    classes = {claim.storage_class for claim in claims}
    for object_ in (before, after):
        match object_:
            case StorageClass():
                related = object_.name in classes
            case CSIStorageCapacity():
                related = object_.storage_class_name in classes
            case PersistentVolume():
                related = (
                    object_.storage_class in classes
                    or object_.spec.claim in pod.claims
                    or object_.name in {claim.spec.volume_name for claim in claims}
                )
            case None:
                related = False
            case _:
                related = True
        if related:
            return True
    return False


def _stops_counting(before: ApiObject | None, after: ApiObject | None) -> bool:
    """kube-scheduler lets pods with claims wait then, for the five minutes that any may wait."""
    if not isinstance(before, CSIDriver) or not before.spec.storage_capacity:
        return False
    return not isinstance(after, CSIDriver) or not after.spec.storage_capacity


def _holds_more_together(before: ApiObject | None, after: ApiObject | None) -> bool:
    """For claims that did not fit together, or beside what is reserved: kube-scheduler looks at the
    largest volume alone."""
    match before, after:
        case CSIStorageCapacity(), CSIStorageCapacity():
            is_reported = find_token(before.annotations) != find_token(after.annotations)
            return is_reported or _total(after) > _total(before) or _has_freer_pool(before, after)
        case StorageClass(), StorageClass():
            return find_class_pool(before) != find_class_pool(after)
        case PersistentVolumeClaim(), _ if SELECTED_NODE in before.annotations:
            return after is None or SELECTED_NODE not in after.annotations
        case Pod(), None:
            # What was reserved for its claims is not, if it did not get them.
            return bool(before.claims)
        case _:
            return False


def _total(capacity: CSIStorageCapacity) -> int:
    return -1 if capacity.capacity_bytes is None else capacity.capacity_bytes


def _has_freer_pool(before: CSIStorageCapacity, after: CSIStorageCapacity) -> bool:
    if before.annotations.get(POOLS) == after.annotations.get(POOLS):
        return False
    known = {pool.name: pool for pool in find_pools(before.annotations) or ()}
    for pool in find_pools(after.annotations) or ():
        old = known.get(pool.name)
        if old is None or old.cost != pool.cost:
            return True
        if any(free > old.free.get(name, 0) for name, free in pool.free.items()):
            return True
    # Without pools the objects of two classes do not compete.
    return POOLS not in after.annotations


def _asked_of_volumes(
    rule: Rule, pod: Pod, before: ApiObject | None, after: ApiObject | None
) -> QueueingHint | None:
    if after is None:
        return None if before is None else after_delete(rule, pod, before)
    if before is None:
        return after_add(rule, pod, after)
    if isinstance(after, Node) and before.labels == after.labels:
        return None
    return after_update(rule, pod, before, after)


def _came(_pod: Pod, before: Node | None, _after: Node) -> bool:
    return before is None


def _takes_pods_again(_pod: Pod, before: Node | None, after: Node) -> bool:
    return not after.spec.unschedulable and (before is None or before.spec.unschedulable)


def _lost_taints(pod: Pod, before: Node | None, after: Node) -> bool:
    if before is not None and before.spec.taints == after.spec.taints:
        return False
    was = before is not None and taint_toleration.judge(pod, before).is_fit
    return not was and taint_toleration.judge(pod, after).is_fit


def _matches_now(pod: Pod, before: Node | None, after: Node) -> bool:
    if before is not None and before.labels == after.labels:
        return False
    terms = AffinityTerms.of(pod)
    was = before is not None and node_affinity.judge(terms, before).is_fit
    return not was and node_affinity.judge(terms, after).is_fit


def _has_more_resources(pod: Pod, before: Node | None, after: Node) -> bool:
    """Enough for the pod if no other pod were there."""
    if before is not None and before.status.allocatable == after.status.allocatable:
        return False
    demands = Demands.of_waiting(pod)
    if not node_resources_fit.judge(demands, after, Load()).is_fit:
        return False
    return before is None or _has_grown(demands, NodeResources.of(before), NodeResources.of(after))


def _has_grown(demands: Demands, before: NodeResources, after: NodeResources) -> bool:
    wanted = [name for name, amount in demands.amounts.items() if amount > 0 or name == PODS]
    return any(after.get(name) > before.get(name) for name in wanted)


NODE_TESTS: Mapping[NodeRule, NodeTest] = {
    NodeRule.NODE_NAME: _came,
    NodeRule.UNSCHEDULABLE: _takes_pods_again,
    NodeRule.TAINTS: _lost_taints,
    NodeRule.NODE_AFFINITY: _matches_now,
    NodeRule.RESOURCES: _has_more_resources,
}


def _frees_resources(pod: Pod, before: Pod, after: Pod | None) -> bool:
    """A pod of some node ended, or asks for less of what the waiting one wants."""
    if after is None:
        return bool(before.spec.node_name or before.status.nominated_node_name)
    if not after.spec.node_name:
        return False
    wanted = Demands.of_waiting(pod).amounts
    held, holds = (Demands.of_placed(each).amounts for each in (before, after))
    return any(
        amount > 0 and held.get(name, 0) > holds.get(name, 0) for name, amount in wanted.items()
    )
