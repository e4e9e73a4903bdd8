"""Which domain a driver advertises for its node, and what it tells people about it.

The labels of the Node object say where the node is. Where the driver is registered already, kubelet
has written the advertised domain on the Node, too, as topology labels: volumes were made and pods
were placed by them, and kubelet refuses a driver that reports other values. So a registered node
keeps its domain, whatever becomes of the labels that it was read from, until an administrator
removes its topology labels. From then on the other labels count again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from plimsoll.api.core import Node
from plimsoll.decide.ceph.domain_labels import (
    DomainLabels,
    DomainNotKnown,
    HomeDomain,
    find_home_domain,
)
from plimsoll.decide.ceph.label_names import short_name
from plimsoll.decide.plan import EventType


class DomainReason(StrEnum):
    """What becomes of a driver that reads the domain of its node from labels."""

    FOUND = "DomainFound"
    """The driver knows the domain of its node, and advertises it."""
    MISSING = "DomainLabelsMissing"
    """The node lacks labels that tell its domain. The driver registers as soon as it has them."""
    DIFFER = "DomainLabelsDiffer"
    """The labels tell another domain than the one that the driver is registered with, which it
    keeps until the topology labels of the node are removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDomain:
    """The domain that the driver is registered with, although the labels tell another one."""

    topology: Mapping[str, str]
    status: str


AdvertisedDomain = HomeDomain | KeptDomain | DomainNotKnown


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainNotice:
    """For an event about the Node, and for the log."""

    reason: DomainReason
    type: EventType
    message: str


def find_advertised_domain(
    wanted: DomainLabels, node: Node | None, *, node_name: str
) -> AdvertisedDomain:
    told = find_home_domain(wanted, node, node_name=node_name)
    registered = _registered(wanted, node)
    match told:
        case HomeDomain(topology=topology) if registered.items() <= topology.items():
            return told
        case _ if registered and len(registered) == len(wanted.labels):
            return KeptDomain(topology=registered, status=_kept(node_name, registered, told))
        case HomeDomain(topology=topology):
            return DomainNotKnown(status=_conflict(node_name, registered, topology))
        case DomainNotKnown():
            return _with_remedy(told, node_name)
        case _:
            assert_never(told)


def domain_notice(found: AdvertisedDomain, *, node_name: str) -> DomainNotice:
    match found:
        case HomeDomain(topology=topology):
            sentence = f"Node {node_name} is in {shown_domain(topology)}."
            return DomainNotice(reason=DomainReason.FOUND, type=EventType.NORMAL, message=sentence)
        case KeptDomain(status=status):
            return DomainNotice(reason=DomainReason.DIFFER, type=EventType.WARNING, message=status)
        case DomainNotKnown(status=status):
            return DomainNotice(reason=DomainReason.MISSING, type=EventType.WARNING, message=status)
        case _:
            assert_never(found)


def shown_domain(topology: Mapping[str, str]) -> str:
    """`region=east,zone=b`, for people."""
    return ",".join(f"{short_name(key)}={value}" for key, value in topology.items())


def _registered(wanted: DomainLabels, node: Node | None) -> dict[str, str]:
    """The domain that kubelet wrote when the driver registered, as far as it is on the Node."""
    labels = {} if node is None else node.labels
    keys = (wanted.key(level) for level in wanted.levels)
    return {key: labels[key] for key in keys if key in labels}


def _kept(node_name: str, registered: Mapping[str, str], told: HomeDomain | DomainNotKnown) -> str:
    match told:
        case HomeDomain(topology=topology):
            why = f"is labelled {shown_domain(topology)}"
        case DomainNotKnown(missing=missing):
            why = f"has no label {', '.join(missing)}"
        case _:
            assert_never(told)
    return (
        f"Node {node_name} {why} and stays in {shown_domain(registered)}, which the driver is"
        f" registered with; to move it, drain it and remove {_removal(registered)}."
    )


def _conflict(node_name: str, registered: Mapping[str, str], topology: Mapping[str, str]) -> str:
    return (
        f"Node {node_name} is labelled {shown_domain(topology)}, and an earlier registration left"
        f" {shown_domain(registered)}; remove {_removal(registered)}."
    )


def _removal(registered: Mapping[str, str]) -> str:
    noun = "label" if len(registered) == 1 else "labels"
    return f"its {noun} {', '.join(registered)}"


def _with_remedy(unknown: DomainNotKnown, node_name: str) -> DomainNotKnown:
    if not unknown.missing:
        return unknown
    labels = " ".join(f"{label}=…" for label in unknown.missing)
    remedy = f"Label it: kubectl label node {node_name} {labels}"
    return DomainNotKnown(status=f"{unknown.status} {remedy}", missing=unknown.missing)
