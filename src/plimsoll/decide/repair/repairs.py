"""What all repairs have in common: a rule, what it would write, and a sentence about it."""

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from plimsoll.api.meta import ApiObject
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.plan import Emit, EventType, Patch, Plan, Write
from plimsoll.decide.resources import CLAIMS


class RepairRule(StrEnum):
    """As `--repair` takes them."""

    SELECTED_NODE = "selected-node"
    DIRECT_NODE = "direct-node"
    LOST_NODE_VOLUMES = "lost-node-volumes"
    ORPHANED_CAPACITY = "orphaned-capacity"


class RepairReason(StrEnum):
    """The reasons of events."""

    SELECTED_NODE_GONE = "RepairedSelectedNode"
    SELECTED_NODE_SET = "RepairedDirectNode"
    VOLUME_LOST = "RepairedLostNodeVolume"
    CAPACITY_ORPHANED = "RepairedOrphanedCapacity"
    REHEARSED = "RepairRehearsed"
    """A dry run: nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    rule: RepairRule
    reason: RepairReason
    regarding: Document
    found: str
    """What is wrong: `The selected node node-1 is gone`."""
    remedy: str
    """What is done about it, to go on with `so`: `the scheduler may choose another`."""
    writes: tuple[Write, ...]


def select_node(claim: PersistentVolumeClaim, node: str | None) -> Patch:
    """Write the selected node on the claim, or take it off; only on the version that was seen."""
    return Patch(
        resource=CLAIMS,
        key=claim.key,
        patch={"metadata": {"annotations": {SELECTED_NODE: node}}},
        version=claim.metadata.resource_version,
        uid=claim.uid,
    )


def as_plan(repair: Repair) -> Plan:
    """The event comes last: it tells of what has happened."""
    return Plan(
        reason=repair.reason,
        writes=(
            *repair.writes,
            _event(repair, repair.reason, f"{repair.found}, so {repair.remedy}."),
        ),
    )


def as_rehearsal(repair: Repair) -> Plan:
    message = f"{repair.found}. This is a dry run; otherwise {repair.remedy}."
    return Plan(
        reason=RepairReason.REHEARSED, writes=(_event(repair, RepairReason.REHEARSED, message),)
    )


def _event(repair: Repair, reason: str, message: str) -> Emit:
    return Emit(regarding=repair.regarding, type=EventType.WARNING, reason=reason, message=message)


def regarding(object_: ApiObject, api_version: str, kind: str) -> Document:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": msgspec.to_builtins(object_.metadata),
    }
