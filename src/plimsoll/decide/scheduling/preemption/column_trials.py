"""Trials of nodes of which the columns have judged most already.

What pods that come and go do not change is read from the flags: no volume is looked at again, and
nodes where volumes were assigned better than the plain rule does stay as good as they are.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.node_view import NodeView
from plimsoll.decide.scheduling.columns.pods.promised_loads import concerns_others
from plimsoll.decide.scheduling.columns.resources import ALL, FREE_ROWS, USED
from plimsoll.decide.scheduling.flags import (
    BITS_AFTER_RULE,
    BITS_BY_RULE,
    AnyRule,
    NodeRule,
    bits_of_judgement,
    flagged,
    judgement_of,
)
from plimsoll.decide.scheduling.judge import Judged
from plimsoll.decide.scheduling.preemption.trial import (
    FixedObstacles,
    NodeObstacle,
    NodeTrial,
    TrialPod,
    taken_ports,
)
from plimsoll.decide.scheduling.profiles.profile import DEFAULT_PROFILE
from plimsoll.decide.scheduling.reasons import Rule
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules import node_resources_fit
from plimsoll.decide.scheduling.rules.inter_pod_affinity.all_nodes import InterPodAffinityColumns

EARLY: tuple[AnyRule, ...] = (
    NodeRule.NODE_NAME,
    NodeRule.UNSCHEDULABLE,
    NodeRule.TAINTS,
    NodeRule.NODE_AFFINITY,
)
LATE: tuple[AnyRule, ...] = (Rule.VOLUME_BINDING, Rule.VOLUME_ZONE)
LAST: tuple[AnyRule, ...] = (NodeRule.DYNAMIC_RESOURCES, NodeRule.FEATURES)


class ColumnTrials:
    """Of one pod. Worth something until the next change to the columns."""

    def __init__(self, judged: Judged, columns: Columns) -> None:
        self._judged = judged
        self._columns = columns

    @property
    def pod(self) -> Pod:
        return self._judged.pod

    @cached_property
    def _waiting(self) -> TrialPod:
        affinity = InterPodAffinityColumns(self._columns).prepare(self.pod)
        profile = self._judged.profile
        waiting = TrialPod.with_affinity(self.pod, self._columns, affinity, profile)
        if isinstance(waiting, Rejected):
            raise TypeError(f"pod {self.pod.key} was judged, and is rejected: {waiting}")
        return waiting

    def on(self, slot: int) -> NodeTrial:
        """There must be a node."""
        columns, name = self._columns, self._columns.index.names[slot]
        node = columns.node(name)
        if node is None:
            raise KeyError(f"there is no node in slot {slot}")
        flags = int(self._judged.flags[slot])
        others = {pod.key: pod for pod in columns.pods_on(name)}
        return NodeTrial(
            waiting=self._waiting,
            node=node,
            view=NodeView(columns, slot, self.pod.claims),
            fixed=FixedObstacles(
                _obstacle(flags, EARLY), _obstacle(flags, LATE), _obstacle(flags, LAST)
            ),
            others=others,
            load=columns.pods.load_of(name),
            ports=taken_ports(self._waiting, others.values()),
            single_pod=self._waiting.volumes.single_pod,
            spread=self._waiting.spread,
            affinity=self._waiting.affinity,
            nominated=columns.nominations.counted_for(self.pod, name),
        )


def _obstacle(flags: int, rules: tuple[AnyRule, ...]) -> NodeObstacle | None:
    for rule in rules:
        if flags & BITS_BY_RULE[rule]:
            return NodeObstacle(rule, judgement_of(flags, rule))
    return None


def find_nominated_obstacle(judged: Judged, columns: Columns, node: str) -> NodeObstacle | None:
    """What speaks against a node beside the pods to which it was promised. None: nothing, or it was
    promised to none that counts for this pod."""
    slot = columns.index.find(node)
    if slot is None or not columns.nominations.counted_for(judged.pod, node):
        return None
    return ColumnTrials(judged, columns).on(slot).find_obstacle()


def with_nominated(judged: Judged, columns: Columns) -> Judged:
    """Where other pods were promised a node there must be room for them as well."""
    nominations, pod = columns.nominations, judged.pod
    own = nominations.node_of(pod)
    if nominations.by_node.keys() == {own} and not nominations.counted_for(pod, own):
        # The only promise is the pod's own.
        return judged
    tried = tried_alone(judged, columns)
    if is_about_resources(judged):
        judged = _with_promised_resources(judged, columns)
    found = _tried(judged, columns, tried)
    if not found:
        return judged
    flags = judged.flags.copy()
    flags[[*found]] = np.array([*found.values()], np.uint64)
    return replace(judged, first=flags, blocked=())


def tried_alone(judged: Judged, columns: Columns) -> set[str]:
    """The promised nodes of which sums do not tell enough: the pod asks more than resources of
    them, a promised pod does more than take these, or the pod itself is among the promised ones."""
    nodes = columns.nominations.by_node
    if not is_about_resources(judged):
        return {*nodes}
    own = columns.nominations.node_of(judged.pod)
    others = columns.promised.of(judged.pod.priority).others
    return others | {own} if own in nodes else others


def is_about_resources(judged: Judged) -> bool:
    """Whether nothing that other pods do matters to the pod but the resources that they take."""
    pod, profile = judged.pod, judged.profile
    hears_others = concerns_others(pod) or bool(pod.spec.topology_spread_constraints)
    is_usual = profile.spread == DEFAULT_PROFILE.spread and profile.asks(NodeRule.RESOURCES)
    return is_usual and not hears_others


def _with_promised_resources(judged: Judged, columns: Columns) -> Judged:
    """On all nodes at once where pods will do nothing but take resources."""
    promised = columns.promised.of(judged.pod.priority)
    slots, usual = promised.slots_and_usual(columns.index, columns.stamp)
    if not len(slots):
        return judged
    demands, resources = judged.node_fit.required, columns.resources
    rows = resources.rows(slots)
    rows[FREE_ROWS] -= usual
    bits = node_resources_fit.blocked_usual(demands, rows)
    for name, flag in node_resources_fit.scalar_flags(demands):
        if (table := resources.scalars.get(name)) is not None:
            spare = table.values[ALL, slots] - table.values[USED, slots]
            held = promised.held_of(name, columns.index)
            bits |= flagged(spare - held < demands.amounts[name], flag)
    own = columns.index.find(columns.nominations.node_of(judged.pod))
    if own is not None:
        bits[slots == own] = 0
    if not (bits & ~judged.flags[slots]).any():
        return judged
    flags = judged.flags.copy()
    flags[slots] |= bits
    return replace(judged, first=flags, blocked=())


def _tried(judged: Judged, columns: Columns, nodes: Iterable[str]) -> dict[int, int]:
    """By slot the flags of those that will not do."""
    pod, trials = judged.pod, ColumnTrials(judged, columns)
    found: dict[int, int] = {}
    for name in nodes:
        slot = columns.index.find(name)
        if slot is None or not columns.nominations.counted_for(pod, name):
            continue
        obstacle = trials.on(slot).find_obstacle()
        if obstacle is not None and obstacle.rule is not None:
            scalars = judged.node_fit.required.scalars
            said = bits_of_judgement(obstacle.rule, obstacle.judgement, scalars)
            found[slot] = said | int(judged.flags[slot]) & BITS_AFTER_RULE[obstacle.rule]
    return found
