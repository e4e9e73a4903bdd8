"""Volumes that say by labels in which zone they are, and should say it by node affinity.

The labels stay. Each becomes a requirement under its own name, as long as that reaches any node
at all; where no node carries the older names any more, but nodes with the newer ones are in the
right zones, the newer names are used: zone labels are understood like that, too. An affinity can
never be changed afterwards, so a volume whose labels cannot be read or contradict each other is
left alone, and so is one whose affinity speaks about these labels already.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from plimsoll.api.registry import Document
from plimsoll.api.selectors.node import (
    NodeRequirementSpec,
    NodeSelector,
    NodeSelectorSpec,
    NodeTermSpec,
)
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.plan import NOTHING, Emit, EventType, Patch, Plan
from plimsoll.decide.resources import VOLUMES

SUCCESSORS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
ZONE_LABELS = (*SUCCESSORS, *SUCCESSORS.values())
SEPARATOR = "__"
"""Between the zones of a volume that is in several."""

NodeLabels = Iterable[Mapping[str, str]]


class ZonalReason(StrEnum):
    UPGRADED = "ZonalAffinityAdded"
    REFUSED = "ZonalUpgradeRefused"
    """The server does not let the affinity be changed."""
    NO_LABELS = "NoZoneLabels"
    ALREADY_THERE = "AffinityNamesZone"
    BEING_DELETED = "VolumeBeingDeleted"
    UNREADABLE = "ZoneLabelUnreadable"
    CONTRADICTORY = "ZoneLabelsContradict"


EXPLANATIONS = {
    ZonalReason.NO_LABELS: "it has no zone or region labels",
    ZonalReason.ALREADY_THERE: "its node affinity speaks about zone or region already",
    ZonalReason.BEING_DELETED: "it is being deleted",
    ZonalReason.UNREADABLE: "a zone label is empty, or has an empty part between two underscores",
    ZonalReason.CONTRADICTORY: "its older and newer labels name different places",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonalUpgrade:
    """What the labels of a volume ask for; without anything to add, `reason` says why."""

    reason: ZonalReason
    added: tuple[NodeRequirementSpec, ...] = ()
    affinity: NodeSelectorSpec | None = None
    """The whole affinity as it should be."""

    @property
    def described(self) -> str:
        return ", ".join(f"{r.key} in ({', '.join(r.values or ())})" for r in self.added)


def zonal_upgrade(volume: PersistentVolume, nodes: NodeLabels) -> ZonalUpgrade:
    labels = {key: volume.labels[key] for key in ZONE_LABELS if key in volume.labels}
    against = _reason_against(volume, labels)
    if against is not None:
        return ZonalUpgrade(reason=against)
    literal = tuple(
        _requirement(key, value) for key, value in labels.items() if not _is_repeated(key, labels)
    )
    added = _that_reach(literal, list(nodes))
    affinity = _merged(volume.spec.required_nodes, added)
    return ZonalUpgrade(reason=ZonalReason.UPGRADED, added=added, affinity=affinity)


def _reason_against(volume: PersistentVolume, labels: Mapping[str, str]) -> ZonalReason | None:
    if not labels:
        return ZonalReason.NO_LABELS
    if volume.is_being_deleted:
        return ZonalReason.BEING_DELETED
    if _speaks_about(volume.spec.required_nodes, labels):
        return ZonalReason.ALREADY_THERE
    if not all(map(_places, labels.values())):
        return ZonalReason.UNREADABLE
    pairs = ((labels.get(old), labels.get(new)) for old, new in SUCCESSORS.items())
    if any(old and new and set(_places(old)) != set(_places(new)) for old, new in pairs):
        return ZonalReason.CONTRADICTORY
    return None


def _places(value: str) -> tuple[str, ...]:
    """In the order of the label, each once; none if the label makes no sense."""
    parts = [part.strip() for part in value.split(SEPARATOR)]
    return tuple(dict.fromkeys(parts)) if all(parts) else ()


def _speaks_about(affinity: NodeSelectorSpec | None, labels: Iterable[str]) -> bool:
    """Under either name: both mean the same."""
    names = set(labels)
    names |= {SUCCESSORS[key] for key in names if key in SUCCESSORS}
    names |= {old for old, new in SUCCESSORS.items() if new in names}
    terms = affinity.node_selector_terms if affinity is not None else ()
    return any(r.key in names for term in terms for r in term.match_expressions)


def _is_repeated(key: str, labels: Mapping[str, str]) -> bool:
    """An older label beside the newer one adds nothing but a way to miss nodes."""
    return SUCCESSORS.get(key) in labels


def _requirement(key: str, value: str) -> NodeRequirementSpec:
    return NodeRequirementSpec(key=key, operator="In", values=_places(value))


def _that_reach(
    literal: tuple[NodeRequirementSpec, ...], nodes: Sequence[Mapping[str, str]]
) -> tuple[NodeRequirementSpec, ...]:
    newer = tuple(msgspec.structs.replace(r, key=SUCCESSORS.get(r.key, r.key)) for r in literal)
    if not _reach_any(literal, nodes) and _reach_any(newer, nodes):
        return newer
    return literal


def _reach_any(
    requirements: tuple[NodeRequirementSpec, ...], nodes: Sequence[Mapping[str, str]]
) -> bool:
    selector = NodeSelector.of(_merged(None, requirements))
    return any(selector.matches(labels) for labels in nodes)


def _merged(
    affinity: NodeSelectorSpec | None, added: tuple[NodeRequirementSpec, ...]
) -> NodeSelectorSpec:
    """Every way to satisfy the affinity must satisfy the new requirements as well. An empty term
    matches no node, and stays empty."""
    terms = affinity.node_selector_terms if affinity is not None else ()
    if not terms:
        return NodeSelectorSpec(node_selector_terms=(NodeTermSpec(match_expressions=added),))
    return NodeSelectorSpec(
        node_selector_terms=tuple(
            term
            if term.is_empty
            else msgspec.structs.replace(term, match_expressions=(*term.match_expressions, *added))
            for term in terms
        )
    )


def decide_zonal_upgrade(volume: PersistentVolume, nodes: NodeLabels) -> Plan:
    upgrade = zonal_upgrade(volume, nodes)
    if upgrade.affinity is None:
        return NOTHING
    patch = Patch(
        resource=VOLUMES,
        key=volume.key,
        patch={"spec": {"nodeAffinity": {"required": msgspec.to_builtins(upgrade.affinity)}}},
        version=volume.metadata.resource_version,
        uid=volume.uid,
    )
    message = f"The volume's zone labels became node affinity: {upgrade.described}."
    return Plan(
        reason=ZonalReason.UPGRADED,
        writes=(patch, _event(volume, EventType.NORMAL, ZonalReason.UPGRADED, message)),
    )


def refusal_event(volume: PersistentVolume, message: str) -> Emit:
    told = f"The volume's zone labels could not become node affinity: {message}"
    return _event(volume, EventType.WARNING, ZonalReason.REFUSED, told)


def _event(volume: PersistentVolume, type_: EventType, reason: str, message: str) -> Emit:
    regarding: Document = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": msgspec.to_builtins(volume.metadata),
    }
    return Emit(regarding=regarding, type=type_, reason=reason, message=message)
