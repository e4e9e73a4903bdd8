"""Which changes of the cluster can help a pod that no node was good enough for, by any rule.

`helps` is the one entry. The rules about volumes answer in `volume_wakeups`, all others in
`kube_hints`; both as kube-scheduler does. Beyond that a pod is left alone where the object has
nothing to do with it, and is woken by changes that kube-scheduler overlooks: see
`affinity_wakeups`, `spread_wakeups`, `capacity_wakeups` and `attachment_wakeups`.

Where many pods wait, a `ClusterChange` is made once and asked about each of them. It knows which
rules look at such a change at all, so that pods which others turned away are not asked about.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from plimsoll.api.core import Namespace, Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.storage import CSIStorageCapacity, StorageClass
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.scheduling.flags import AnyRule, NodeRule
from plimsoll.decide.scheduling.pod_terms import PodTerm
from plimsoll.decide.scheduling.queue import affinity_wakeups, spread_wakeups
from plimsoll.decide.scheduling.queue.attachment_wakeups import frees_attachment
from plimsoll.decide.scheduling.queue.capacity_wakeups import frees_capacity
from plimsoll.decide.scheduling.queue.events import (
    ClusterEvent,
    node_events,
    own_events,
    pod_events,
)
from plimsoll.decide.scheduling.queue.hints import Hint, answer
from plimsoll.decide.scheduling.queue.kube_hints import Test, registered_for
from plimsoll.decide.scheduling.queue.pod_wakeups import has_place
from plimsoll.decide.scheduling.queue.volume_wakeups import hint_about, rules_asked
from plimsoll.decide.scheduling.reasons import Rule
from plimsoll.decide.scheduling.view import ClusterView

ABOUT_PODS: Mapping[AnyRule, Test] = {
    NodeRule.SPREAD: spread_wakeups.may_help,
    NodeRule.POD_AFFINITY: affinity_wakeups.may_help,
}
"""Rules whose tests look at more than kube-scheduler does, whatever the event."""
AFFINITY, SPREAD = (frozenset[AnyRule]({rule}) for rule in (NodeRule.POD_AFFINITY, NodeRule.SPREAD))
BEYOND: Mapping[ClusterEvent, frozenset[AnyRule]] = {
    ClusterEvent.NODE_DELETED: AFFINITY,
    ClusterEvent.POD_UPDATED: SPREAD,
    ClusterEvent.POD_SCALED_DOWN: SPREAD,
    ClusterEvent.POD_SCALED_UP: SPREAD,
    ClusterEvent.POD_TOLERATIONS: SPREAD,
}
"""Rules whose plugins look at events that kube-scheduler does not ask them about."""
NO_RULES: frozenset[AnyRule] = frozenset()
FREEING: Mapping[Rule, Callable[[ApiObject | None, ApiObject | None], bool]] = {
    Rule.VOLUME_BINDING: frees_capacity,
    Rule.VOLUME_LIMITS: frees_attachment,
}
"""What helps pods with claims, whichever claims they have."""


def helps(rule: AnyRule, pod: Pod, before: ApiObject | None, after: ApiObject | None) -> bool:
    """Whether the rule might judge the pod otherwise, as far as no other pod avoids it; None: the
    object was not or is no more."""
    return ClusterChange.of(before, after).helps(rule, pod)


def helps_itself(rule: AnyRule, before: Pod, after: Pod) -> bool:
    """Whether the rule might judge a waiting pod otherwise after its own change."""
    if rule is NodeRule.FEATURES:
        return before.spec != after.spec
    tests = (registered_for(event).get(rule) for event in own_events(before, after))
    return any(_wakes(test, after, before, after) for test in tests if test is not None)


@dataclass(frozen=True, slots=True)
class ChangeStep:
    """An object before and after a change, as far as pods have to do with it."""

    before: ApiObject | None
    after: ApiObject | None
    events: tuple[ClusterEvent, ...] = ()
    """Only nodes and pods have any."""


@dataclass(frozen=True, slots=True)
class ClusterChange:
    steps: tuple[ChangeStep, ...]
    rules: frozenset[AnyRule]
    """Those that look at such a change. To all others it cannot matter."""
    freed: frozenset[Rule]
    """Those that may judge every pod with claims otherwise now."""
    avoiding: tuple[PodTerm, ...] = ()
    """What pods avoided that went, or from which a node went away."""

    @classmethod
    def of(
        cls, before: ApiObject | None, after: ApiObject | None, others: Iterable[PodTerm] = ()
    ) -> Self:
        """The terms of others say which pods may not come near to those that have a node; they are
        looked at only where they matter."""
        steps = _steps(before, after)
        freed = frozenset(
            rule
            for rule, frees in FREEING.items()
            if any(frees(each.before, each.after) for each in steps)
        )
        rules = freed.union(*map(_rules_of, steps))
        avoiding = (
            term
            for each in steps
            for term in affinity_wakeups.avoiding_terms(each.before, each.after, others)
        )
        return cls(steps, rules, freed, tuple(avoiding))

    @property
    def only_takes(self) -> bool:
        """A pod came to a node: that helps only pods which want it near them."""
        return all(isinstance(step.after, Pod) and step.before is None for step in self.steps)

    def helps(self, rule: AnyRule, pod: Pod) -> bool:
        return self.helps_alike(rule, pod) or (
            rule is NodeRule.POD_AFFINITY and self.ends_avoidance(pod)
        )

    def helps_alike(self, rule: AnyRule, pod: Pod) -> bool:
        """The same but for `ends_avoidance`, so that pods of one `likeness` are answered alike."""
        if rule not in self.rules:
            return False
        if isinstance(rule, Rule):
            return self._helps_with_volumes(rule, pod)
        return any(
            _wakes(test, pod, step.before, step.after)
            for step in self.steps
            for test in _tests(step, rule)
        )

    def ends_avoidance(self, pod: Pod) -> bool:
        """Whether pods that kept this one away from nodes near them do so no more."""
        return any(affinity_wakeups.may_match(term, pod) for term in self.avoiding)

    def _helps_with_volumes(self, rule: Rule, pod: Pod) -> bool:
        if rule in self.freed and pod.claims:
            return True
        hints = (hint_about(rule, pod, step.before, step.after) for step in self.steps)
        return any(found.hint is Hint.WAKE for found in hints)


def _tests(step: ChangeStep, rule: AnyRule) -> Iterator[Test]:
    if rule in ABOUT_PODS:
        yield ABOUT_PODS[rule]
        return
    for event in step.events:
        if (test := registered_for(event).get(rule)) is not None:
            yield test


def _wakes(test: Test, pod: Pod, before: ApiObject | None, after: ApiObject | None) -> bool:
    return answer(test, pod, before, after).hint is Hint.WAKE


def _rules_of(step: ChangeStep) -> frozenset[AnyRule]:
    if isinstance(step.after or step.before, Namespace):
        return AFFINITY
    found: set[AnyRule] = set(rules_asked(step.before, step.after))
    for event in step.events:
        found.update(rule for rule in registered_for(event) if isinstance(rule, NodeRule))
        found |= BEYOND.get(event, NO_RULES)
    return frozenset(found)


def _steps(before: ApiObject | None, after: ApiObject | None) -> tuple[ChangeStep, ...]:
    match after or before:
        case Node():
            was, now = (each if isinstance(each, Node) else None for each in (before, after))
            return (ChangeStep(was, now, tuple(node_events(was, now))),)
        case Pod():
            return tuple(_pod_steps(_with_place(before), _with_place(after)))
        case _:
            return (ChangeStep(before, after),)


def _pod_steps(was: Pod | None, now: Pod | None) -> Iterator[ChangeStep]:
    """A pod that moves goes and comes; one that is no longer meant for a node goes."""
    if was is not None and now is not None and _place(was) == _place(now):
        yield ChangeStep(was, now, tuple(pod_events(was, now)))
        return
    if was is not None and not _stays(was, now):
        yield ChangeStep(was, None, (ClusterEvent.POD_DELETED,))
    if now is not None and now.spec.node_name:
        yield ChangeStep(None, now, (ClusterEvent.POD_ADDED,))


def _with_place(pod: ApiObject | None) -> Pod | None:
    """None: it takes nothing of any node."""
    return pod if isinstance(pod, Pod) and has_place(pod) and not pod.is_finished else None


def _place(pod: Pod) -> tuple[str, str, str]:
    nominated = "" if pod.spec.node_name else pod.status.nominated_node_name
    return pod.uid, pod.spec.node_name, nominated


def _stays(was: Pod, now: Pod | None) -> bool:
    """It is on the node that it was meant for."""
    if now is None or was.uid != now.uid or was.spec.node_name:
        return False
    return was.status.nominated_node_name == now.spec.node_name


def may_help_any_pod(before: ApiObject | None, after: ApiObject | None) -> bool:
    """False for the many changes that no rule looks at, such as the heartbeats of nodes. Costs
    little, since it is asked about every change of the cluster."""
    match before, after:
        case Node(), Node():
            return _what_counts(before) != _what_counts(after)
        case Pod(), Pod():
            return _place(before) != _place(after) or (
                bool(after.spec.node_name) and _what_pods_see(before) != _what_pods_see(after)
            )
        case Pod(), None:
            return has_place(before)
        case None, Pod():
            return bool(after.spec.node_name)
        case Namespace(), Namespace():
            return before.labels != after.labels
        case _:
            return before != after


def _what_counts(node: Node) -> tuple[object, ...]:
    spec, status = node.spec, node.status
    own = (spec.taints, spec.unschedulable, status.allocatable, status.declared_features)
    return node.labels, *own


def _what_pods_see(pod: Pod) -> tuple[object, ...]:
    """Of a pod that is on a node."""
    return pod.labels, pod.is_being_deleted, pod.is_finished, *_takes(pod)


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
    claim of the pod asks for the class or has the volume; everything else does. A new class does
    as well: it may become the default, kube-scheduler wakes pods for it, and it comes rarely."""
    claims = [claim for key in pod.claims if (claim := view.claim(key)) is not None]
    classes = {claim.storage_class for claim in claims}
    for object_ in (before, after):
        match object_:
            case StorageClass():
                related = before is None or object_.name in classes
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
