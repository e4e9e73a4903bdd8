"""Why nodes cannot take a pod, as bits that arrays can hold, and what the bits mean.

Each bit belongs to one rule, one reason and one sentence. Reasons of several rules may be set for a
node at once; kube-scheduler stops at the first rule, and so do the counts in events.
"""

from collections.abc import Iterable, Mapping
from enum import IntFlag, StrEnum, auto
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plimsoll.decide.scheduling.columns.nodes import mask_of
from plimsoll.decide.scheduling.reasons import Reason, Rule, Sentence

Flags = NDArray[np.uint64]


class NodeRule(StrEnum):
    """Who judges beside the rules about volumes, under kube-scheduler's names."""

    NODE_NAME = "NodeName"
    UNSCHEDULABLE = "NodeUnschedulable"
    TAINTS = "TaintToleration"
    NODE_AFFINITY = "NodeAffinity"
    RESOURCES = "NodeResourcesFit"


AnyRule = Rule | NodeRule


class NodeSentence(StrEnum):
    """What kube-scheduler says of nodes by these rules."""

    NODE_NAME = "node(s) didn't match the requested node name"
    UNSCHEDULABLE = "node(s) were unschedulable"
    TAINT = "node(s) had untolerated taint(s)"
    NODE_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
    TOO_MANY_PODS = "Too many pods"


class Blocked(IntFlag):
    """In the order of the rules."""

    NO_NODE = auto()
    """There is no node in the slot."""

    NODE_NAME = auto()
    UNSCHEDULABLE = auto()
    TAINT = auto()
    NODE_AFFINITY = auto()

    TOO_MANY_PODS = auto()
    CPU = auto()
    MEMORY = auto()
    EPHEMERAL_STORAGE = auto()

    DISK = auto()
    SINGLE_POD = auto()

    LIMIT_UNREADABLE = auto()
    """The pod describes a volume itself that the node's driver cannot make sense of."""
    LIMIT_DRIVER = auto()
    LIMIT_NOT_OWNED = auto()
    """A pod that is there uses a claim that is not its own, so nothing can be counted."""
    LIMIT_OTHER_UNREADABLE = auto()
    LIMIT_NAMELESS = auto()
    LIMIT_REACHED = auto()

    BOUND_UNREADABLE = auto()
    BOUND_AFFINITY = auto()
    BOUND_MISSING = auto()
    DELAYED_INVALID = auto()
    DELAYED_ELSEWHERE = auto()
    DELAYED_NO_VOLUME = auto()
    DELAYED_NO_TOPOLOGY = auto()
    DELAYED_TOPOLOGY = auto()
    DELAYED_DRIVER = auto()
    DELAYED_NO_SEGMENT = auto()
    DELAYED_UNPUBLISHED = auto()
    DELAYED_ZERO = auto()
    DELAYED_TOO_SMALL = auto()
    DELAYED_TOGETHER = auto()
    DELAYED_RESERVED = auto()

    ZONE = auto()


FIRST_SCALAR = 40
LAST_SCALAR = 63
"""The bits from here to there stand for resources that the pod asks for beside the usual ones."""


class Meaning(NamedTuple):
    rule: AnyRule
    reason: Reason
    sentence: str
    """Empty where it depends on the pod."""


MEANINGS: Mapping[Blocked, Meaning] = {
    Blocked.NODE_NAME: Meaning(
        NodeRule.NODE_NAME, Reason.NODE_AFFINITY_MISMATCH, NodeSentence.NODE_NAME
    ),
    Blocked.UNSCHEDULABLE: Meaning(
        NodeRule.UNSCHEDULABLE, Reason.NODE_UNSCHEDULABLE, NodeSentence.UNSCHEDULABLE
    ),
    Blocked.TAINT: Meaning(NodeRule.TAINTS, Reason.UNTOLERATED_TAINT, NodeSentence.TAINT),
    Blocked.NODE_AFFINITY: Meaning(
        NodeRule.NODE_AFFINITY, Reason.NODE_AFFINITY_MISMATCH, NodeSentence.NODE_AFFINITY
    ),
    Blocked.TOO_MANY_PODS: Meaning(
        NodeRule.RESOURCES, Reason.TOO_MANY_PODS, NodeSentence.TOO_MANY_PODS
    ),
    Blocked.CPU: Meaning(NodeRule.RESOURCES, Reason.INSUFFICIENT_RESOURCE, "Insufficient cpu"),
    Blocked.MEMORY: Meaning(
        NodeRule.RESOURCES, Reason.INSUFFICIENT_RESOURCE, "Insufficient memory"
    ),
    Blocked.EPHEMERAL_STORAGE: Meaning(
        NodeRule.RESOURCES, Reason.INSUFFICIENT_RESOURCE, "Insufficient ephemeral-storage"
    ),
    Blocked.DISK: Meaning(Rule.VOLUME_RESTRICTIONS, Reason.DISK_IN_USE, Sentence.DISK),
    Blocked.SINGLE_POD: Meaning(
        Rule.VOLUME_RESTRICTIONS, Reason.READ_WRITE_ONCE_POD_CONFLICT, Sentence.SINGLE_POD
    ),
    Blocked.LIMIT_UNREADABLE: Meaning(Rule.VOLUME_LIMITS, Reason.VOLUME_NOT_TRANSLATABLE, ""),
    Blocked.LIMIT_DRIVER: Meaning(Rule.VOLUME_LIMITS, Reason.DRIVER_NOT_ON_NODE, ""),
    Blocked.LIMIT_NOT_OWNED: Meaning(Rule.VOLUME_LIMITS, Reason.CLAIM_NOT_OWNED, ""),
    Blocked.LIMIT_OTHER_UNREADABLE: Meaning(Rule.VOLUME_LIMITS, Reason.VOLUME_NOT_TRANSLATABLE, ""),
    Blocked.LIMIT_NAMELESS: Meaning(Rule.VOLUME_LIMITS, Reason.CLAIM_IS_INVALID, ""),
    Blocked.LIMIT_REACHED: Meaning(
        Rule.VOLUME_LIMITS, Reason.ATTACH_LIMIT_REACHED, Sentence.VOLUME_COUNT
    ),
    Blocked.BOUND_UNREADABLE: Meaning(Rule.VOLUME_BINDING, Reason.VOLUME_NOT_TRANSLATABLE, ""),
    Blocked.BOUND_AFFINITY: Meaning(
        Rule.VOLUME_BINDING, Reason.VOLUME_AFFINITY_CONFLICT, Sentence.VOLUME_AFFINITY
    ),
    Blocked.BOUND_MISSING: Meaning(
        Rule.VOLUME_BINDING, Reason.VOLUME_NOT_FOUND, Sentence.VOLUME_MISSING
    ),
    Blocked.DELAYED_INVALID: Meaning(Rule.VOLUME_BINDING, Reason.CLAIM_IS_INVALID, ""),
    Blocked.DELAYED_ELSEWHERE: Meaning(
        Rule.VOLUME_BINDING, Reason.SELECTED_ELSEWHERE, Sentence.NO_VOLUME
    ),
    Blocked.DELAYED_NO_VOLUME: Meaning(
        Rule.VOLUME_BINDING, Reason.NO_MATCHING_VOLUME, Sentence.NO_VOLUME
    ),
    Blocked.DELAYED_NO_TOPOLOGY: Meaning(
        Rule.VOLUME_BINDING, Reason.TOPOLOGY_KEY_MISSING, Sentence.NO_VOLUME
    ),
    Blocked.DELAYED_TOPOLOGY: Meaning(
        Rule.VOLUME_BINDING, Reason.OUTSIDE_ALLOWED_TOPOLOGIES, Sentence.NO_VOLUME
    ),
    Blocked.DELAYED_DRIVER: Meaning(
        Rule.VOLUME_BINDING, Reason.DRIVER_NOT_ON_NODE, Sentence.NO_SPACE
    ),
    Blocked.DELAYED_NO_SEGMENT: Meaning(
        Rule.VOLUME_BINDING, Reason.TOPOLOGY_KEY_MISSING, Sentence.NO_SPACE
    ),
    Blocked.DELAYED_UNPUBLISHED: Meaning(
        Rule.VOLUME_BINDING, Reason.NO_CAPACITY_PUBLISHED, Sentence.NO_SPACE
    ),
    Blocked.DELAYED_ZERO: Meaning(Rule.VOLUME_BINDING, Reason.CAPACITY_ZERO, Sentence.NO_SPACE),
    Blocked.DELAYED_TOO_SMALL: Meaning(
        Rule.VOLUME_BINDING, Reason.CAPACITY_TOO_SMALL, Sentence.NO_SPACE
    ),
    Blocked.DELAYED_TOGETHER: Meaning(
        Rule.VOLUME_BINDING, Reason.CLAIMS_DO_NOT_FIT_TOGETHER, Sentence.NO_SPACE
    ),
    Blocked.DELAYED_RESERVED: Meaning(
        Rule.VOLUME_BINDING, Reason.CAPACITY_RESERVED, Sentence.NO_SPACE
    ),
    Blocked.ZONE: Meaning(Rule.VOLUME_ZONE, Reason.VOLUME_ZONE_CONFLICT, Sentence.ZONE),
}

RULES: tuple[AnyRule, ...] = tuple(dict.fromkeys(meaning.rule for meaning in MEANINGS.values()))
SCALARS = sum(1 << bit for bit in range(FIRST_SCALAR, LAST_SCALAR + 1))


def bits_of_rule(rule: AnyRule) -> int:
    bits = sum(int(flag) for flag, meaning in MEANINGS.items() if meaning.rule is rule)
    return bits | SCALARS if rule is NodeRule.RESOURCES else bits


BITS_BY_RULE: Mapping[AnyRule, int] = {rule: bits_of_rule(rule) for rule in RULES}


def no_flags(size: int) -> Flags:
    return np.zeros(size, np.uint64)


def flagged(mask: NDArray[np.bool_], flag: int) -> Flags:
    return mask * np.uint64(flag)


def flags_of(found: Iterable[tuple[int, int]], size: int) -> Flags:
    """By slot, given each flag with the set of nodes that it is about."""
    flags = no_flags(size)
    for flag, bits in found:
        if bits:
            flags |= flagged(mask_of(bits, size), flag)
    return flags


def of_first_rule(flags: Flags) -> Flags:
    """For each node only what the first rule says that speaks against it."""
    found = flags & np.uint64(Blocked.NO_NODE)
    for bits in BITS_BY_RULE.values():
        found = np.where(found == 0, flags & np.uint64(bits), found)
    return found
