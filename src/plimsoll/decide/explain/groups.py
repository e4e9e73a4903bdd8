"""Groups of nodes that are refused for the same reasons, and the numbers that differ among them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.scheduling.flags import AnyRule
from plimsoll.decide.scheduling.reasons import Finding, Reason, SeenObject

INSUFFICIENT = "Insufficient "
IN_BYTES = ("memory", "ephemeral-storage", "hugepages-")
COUNTED = (Reason.ATTACH_LIMIT_REACHED, Reason.TOO_MANY_PODS, Reason.SPREAD_CONFLICT)


class Unit(StrEnum):
    BYTES = "bytes"
    MILLI_CPU = "millicpu"
    COUNT = "count"


class Area(StrEnum):
    """Where something was seen to go wrong that no rule about nodes judges."""

    SCHEDULING = "Scheduling"
    PROVISIONING = "Provisioning"
    CAPACITY = "Capacity"
    MOUNTING = "Mounting"
    WORKLOAD = "Workload"


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrences:
    """How often something was reported, and when."""

    count: int = 1
    first_at: datetime | None = None
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTrouble:
    """One thing that speaks against one node, and the rule that says so."""

    rule: AnyRule
    finding: Finding

    @property
    def kind(self) -> tuple[str, ...]:
        """What has to be the same for two nodes to be treated alike."""
        found = self.finding
        return (self.rule.value, found.reason, str(found.claim or ""), str(found.sentence))

    @property
    def unit(self) -> Unit:
        return unit_of(self.finding)


def unit_of(finding: Finding) -> Unit:
    """What wanted and seen are numbers of."""
    if finding.reason in COUNTED:
        return Unit.COUNT
    if finding.reason is not Reason.INSUFFICIENT_RESOURCE:
        return Unit.BYTES
    resource = finding.sentence.removeprefix(INSUFFICIENT)
    if resource == "cpu":
        return Unit.MILLI_CPU
    return Unit.BYTES if resource.startswith(IN_BYTES) else Unit.COUNT


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTrouble:
    """One thing that speaks against all nodes of a group, or that was seen to go wrong whatever
    node is chosen."""

    rule: AnyRule | Area
    reason: Reason
    sentence: str
    unit: Unit = Unit.BYTES
    claim: ObjectKey | None = None
    wanted: int | None = None
    least: int | None = None
    """Of what was seen on the nodes of the group."""
    most: int | None = None
    about: SeenObject | None = None
    """Where most was seen; if no numbers matter, on the first node."""
    occurrences: Occurrences | None = None
    """None: it is a state, which no event counts."""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    nodes: tuple[str, ...]
    """By name."""
    troubles: tuple[SharedTrouble, ...]


def grouped(by_node: Mapping[str, Iterable[NodeTrouble]]) -> tuple[NodeGroup, ...]:
    """The group with the fewest troubles first: there the least has to change. Then the largest."""
    nodes: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    troubles: dict[tuple[tuple[str, ...], ...], list[list[NodeTrouble]]] = {}
    for node, found in sorted(by_node.items()):
        own = [*found]
        kind = tuple(trouble.kind for trouble in own)
        nodes.setdefault(kind, []).append(node)
        troubles.setdefault(kind, []).append(own)
    groups = [
        NodeGroup(tuple(names), tuple(map(shared, zip(*troubles[kind], strict=True))))
        for kind, names in nodes.items()
    ]
    return tuple(sorted(groups, key=lambda g: (len(g.troubles), -len(g.nodes), g.nodes)))


def shared(same: Iterable[NodeTrouble]) -> SharedTrouble:
    """The same trouble on several nodes."""
    found = [*same]
    first = found[0]
    seen = [trouble.finding.seen for trouble in found if trouble.finding.seen is not None]
    best = max(found, key=lambda t: -1 if t.finding.seen is None else t.finding.seen)
    return SharedTrouble(
        rule=first.rule,
        reason=first.finding.reason,
        sentence=str(first.finding.sentence),
        unit=first.unit,
        claim=first.finding.claim,
        wanted=first.finding.wanted,
        least=min(seen, default=None),
        most=max(seen, default=None),
        about=best.finding.about,
    )
