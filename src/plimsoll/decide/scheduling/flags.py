"""Why nodes cannot take a pod, as bits that arrays can hold, and what the bits mean.

Each bit belongs to one rule, one reason and one sentence. Reasons of several rules may be set for a
node at once; kube-scheduler stops at the first rule, and so do the counts in events.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import IntFlag, StrEnum, auto
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plimsoll.decide.scheduling.columns.nodes import mask_of
from plimsoll.decide.scheduling.reasons import (
    Finding,
    Judgement,
    Reason,
    Rule,
    Sentence,
    Verdict,
)

Flags = NDArray[np.uint64]
Tally = dict[int, int]
"""How many nodes have which flags."""
MOST_ALIKE = 16
"""Up to so many different flags it is faster to look for each than to sort."""


KEPT_FLAGS = 1024


class NodeRule(StrEnum):
    """Who judges beside the rules about volumes, under kube-scheduler's names."""

    NODE_NAME = "NodeName"
    UNSCHEDULABLE = "NodeUnschedulable"
    TAINTS = "TaintToleration"
    NODE_AFFINITY = "NodeAffinity"
    PORTS = "NodePorts"
    RESOURCES = "NodeResourcesFit"
    SPREAD = "PodTopologySpread"
    POD_AFFINITY = "InterPodAffinity"
    DYNAMIC_RESOURCES = "DynamicResources"
    FEATURES = "NodeDeclaredFeatures"


AnyRule = Rule | NodeRule


class NodeSentence(StrEnum):
    """What kube-scheduler says of nodes by these rules."""

    NODE_NAME = "node(s) didn't match the requested node name"
    UNSCHEDULABLE = "node(s) were unschedulable"
    TAINT = "node(s) had untolerated taint(s)"
    NODE_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
    PORTS = "node(s) didn't have free ports for the requested pod ports"
    TOO_MANY_PODS = "Too many pods"
    SPREAD = "node(s) didn't match pod topology spread constraints"
    SPREAD_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"
    POD_AFFINITY = "node(s) didn't match pod affinity rules"
    POD_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
    EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
    FEATURES = "node(s) didn't match Pod's required features"


class Blocked(IntFlag):
    """In the order of the rules."""

    NO_NODE = auto()
    """There is no node in the slot."""

    NODE_NAME = auto()
    UNSCHEDULABLE = auto()
    TAINT = auto()
    NODE_AFFINITY = auto()
    PORTS = auto()

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

    SPREAD_LABEL = auto()
    SPREAD = auto()
    POD_AFFINITY = auto()
    POD_ANTI_AFFINITY = auto()
    EXISTING_ANTI_AFFINITY = auto()

    RESOURCE_CLAIMS = auto()
    FEATURES = auto()


FIRST_SCALAR = 41
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
    Blocked.PORTS: Meaning(NodeRule.PORTS, Reason.PORT_CONFLICT, NodeSentence.PORTS),
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
    Blocked.SPREAD_LABEL: Meaning(
        NodeRule.SPREAD, Reason.SPREAD_CONFLICT, NodeSentence.SPREAD_LABEL
    ),
    Blocked.SPREAD: Meaning(NodeRule.SPREAD, Reason.SPREAD_CONFLICT, NodeSentence.SPREAD),
    Blocked.POD_AFFINITY: Meaning(
        NodeRule.POD_AFFINITY, Reason.POD_AFFINITY_CONFLICT, NodeSentence.POD_AFFINITY
    ),
    Blocked.POD_ANTI_AFFINITY: Meaning(
        NodeRule.POD_AFFINITY, Reason.POD_ANTI_AFFINITY_CONFLICT, NodeSentence.POD_ANTI_AFFINITY
    ),
    Blocked.EXISTING_ANTI_AFFINITY: Meaning(
        NodeRule.POD_AFFINITY,
        Reason.POD_ANTI_AFFINITY_CONFLICT,
        NodeSentence.EXISTING_ANTI_AFFINITY,
    ),
    Blocked.RESOURCE_CLAIMS: Meaning(
        NodeRule.DYNAMIC_RESOURCES, Reason.RESOURCE_CLAIM_NOT_SUPPORTED, ""
    ),
    Blocked.FEATURES: Meaning(NodeRule.FEATURES, Reason.FEATURE_MISSING, NodeSentence.FEATURES),
}

MEANING_BY_BIT: Mapping[int, tuple[Blocked, Meaning]] = {
    int(flag): (flag, meaning) for flag, meaning in MEANINGS.items()
}
"""Plain numbers: it is asked for every pod that waits."""


def meanings_in(bits: int) -> Iterator[tuple[Blocked, Meaning]]:
    """Of the flags that are set, in the order of the rules."""
    while bits:
        bit = bits & -bits
        bits ^= bit
        if bit in MEANING_BY_BIT:
            yield MEANING_BY_BIT[bit]


NO_NODE = int(Blocked.NO_NODE)
RULES: tuple[AnyRule, ...] = tuple(dict.fromkeys(meaning.rule for meaning in MEANINGS.values()))
SCALARS = sum(1 << bit for bit in range(FIRST_SCALAR, LAST_SCALAR + 1))


def bits_of_rule(rule: AnyRule) -> int:
    bits = sum(int(flag) for flag, meaning in MEANINGS.items() if meaning.rule is rule)
    return bits | SCALARS if rule is NodeRule.RESOURCES else bits


BITS_BY_RULE: Mapping[AnyRule, int] = {rule: bits_of_rule(rule) for rule in RULES}

BITS_AFTER_RULE: Mapping[AnyRule, int] = {
    rule: sum(BITS_BY_RULE[later] for later in RULES[place + 1 :])
    for place, rule in enumerate(RULES)
}
"""Of the rules that kube-scheduler asks later."""


RESOURCE_BITS = BITS_BY_RULE[NodeRule.RESOURCES]
CURABLE = (
    Blocked.PORTS
    | Blocked.DISK
    | Blocked.SINGLE_POD
    | Blocked.LIMIT_DRIVER
    | Blocked.LIMIT_REACHED
    | Blocked.SPREAD
    | Blocked.POD_ANTI_AFFINITY
    | Blocked.EXISTING_ANTI_AFFINITY
)
"""Reasons for which a node is Unschedulable in kube-scheduler's words: other pods might make place.
Resources are apart: it depends on how much of them the node has."""


def judgement_of(flags: int, rule: AnyRule) -> Judgement:
    """What a rule beside NodeResourcesFit says of a node, without numbers."""
    found = [flag for flag in MEANINGS if flags & flag & BITS_BY_RULE[rule]]
    verdict = Verdict.UNSCHEDULABLE if found and found[0] & CURABLE else Verdict.UNRESOLVABLE
    findings = [
        Finding(reason=reason, sentence=sentence or str(rule))
        for _, reason, sentence in (MEANINGS[flag] for flag in found)
    ]
    return Judgement(verdict, tuple(findings))


def bits_of_judgement(rule: AnyRule, judgement: Judgement, scalars: Iterable[str]) -> int:
    """The flags for what a rule says; `scalars` are the pod's resources beside the usual ones."""
    bits = 0
    said = {(finding.reason, finding.sentence) for finding in judgement.findings}
    for flag, (whose, reason, sentence) in MEANINGS.items():
        is_said = any(why == reason and sentence in ("", text) for why, text in said)
        if whose is rule and is_said:
            bits |= flag
    for bit, name in enumerate(scalars, FIRST_SCALAR):
        if (Reason.INSUFFICIENT_RESOURCE, f"Insufficient {name}") in said:
            bits |= 1 << min(bit, LAST_SCALAR)
    return bits


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


def tally_of(flags: Flags) -> Tally:
    """How many nodes have which flags: mostly a few reasons hold for all of them."""
    found: Tally = {}
    left = flags
    while len(left) and len(found) < MOST_ALIKE:
        value = left[0]
        is_other = left != value
        others = int(np.count_nonzero(is_other))
        found[int(value)] = len(left) - others
        left = left[is_other] if others else left[:0]
    if len(left):
        values, numbers = np.unique(left, return_counts=True)
        found |= dict(zip(values.tolist(), numbers.tolist(), strict=True))
    return found


@lru_cache(KEPT_FLAGS)
def bits_of_first_rule(flags: int) -> int:
    """What the first rule says that speaks against a node. Few flags come together, again and
    again."""
    if flags & NO_NODE:
        return NO_NODE
    return next((flags & bits for bits in BITS_BY_RULE.values() if flags & bits), 0)


def bits_in(flags: Flags) -> int:
    """All flags that some node has."""
    return int(np.bitwise_or.reduce(flags)) if len(flags) else 0


def of_first_rule(flags: Flags) -> Flags:
    """For each node only what the first rule says that speaks against it."""
    present = bits_in(flags)
    spoken = [bits for bits in BITS_BY_RULE.values() if bits & present]
    found = flags & np.uint64(NO_NODE | spoken[0] if spoken else NO_NODE)
    if present & NO_NODE:
        found[flags & np.uint64(NO_NODE) != 0] = NO_NODE
    for bits in spoken[1:]:
        np.copyto(found, flags & np.uint64(bits), where=found == 0)
    return found
