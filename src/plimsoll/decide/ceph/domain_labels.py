"""Where a node is: its labels, in an order from wide to narrow, as the topology of a driver.

ceph-csi ends with an error when a node lacks a label, and starts again for ever. Here such a node
waits, and its status says for which labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from plimsoll.api.core import Node
from plimsoll.api.names import qualified_name_errors
from plimsoll.decide.ceph.label_names import compatible_labels, short_name, split_labels

KUBERNETES = "kubernetes"
LONGEST_PREFIX = 63


class DomainLabelProblem(StrEnum):
    """Why ceph-csi cannot tell where a node is."""

    PREFIX_TOO_LONG = "PrefixTooLong"
    DUPLICATE_LABEL = "DuplicateLabel"
    MISSING_LABELS = "MissingLabels"
    NODE_NOT_FOUND = "NodeNotFound"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainLabels:
    """Which labels of nodes a driver reads, the widest domain first."""

    driver: str
    labels: tuple[str, ...]

    @property
    def levels(self) -> tuple[str, ...]:
        """The short names that pools use: `("region", "zone")`, for example."""
        return tuple(short_name(label) for label in self.labels)

    def key(self, level: str) -> str:
        return f"{topology_prefix(self.driver)}/{level}"

    def in_order(self, segment: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
        """The labels of a segment one by one, from wide to narrow, as a volume tells where it is
        cheap to use. Labels that are not among ours come last."""
        order = {level: place for place, level in enumerate(self.levels)}
        keys = sorted(segment, key=lambda key: order.get(short_name(key), len(order)))
        return tuple({key: segment[key]} for key in keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeDomain:
    topology: Mapping[str, str]
    """What NodeGetInfo answers."""
    path: tuple[str, ...]
    """The values from wide to narrow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainNotKnown:
    """The node waits until its labels change."""

    status: str
    missing: tuple[str, ...] = ()


def topology_prefix(driver: str) -> str:
    return f"topology.{driver}".lower()


def parse_domain_labels(text: str, *, driver: str, orchestrator: str = KUBERNETES) -> DomainLabels:
    """Raises ValueError for a setting with which no node could be placed."""
    if orchestrator != KUBERNETES:
        raise ValueError(f"orchestrator {orchestrator!r} is not known; only {KUBERNETES} is")
    if len(topology_prefix(driver)) > LONGEST_PREFIX:
        raise ValueError(
            f"the name of the driver is too long for labels: {topology_prefix(driver)!r} has more "
            f"than {LONGEST_PREFIX} characters"
        )
    labels = split_labels(text)
    _check_labels(labels)
    return DomainLabels(driver=driver, labels=tuple(labels))


def _check_labels(labels: list[str]) -> None:
    seen: dict[str, str] = {}
    for label in labels:
        if errors := qualified_name_errors(label):
            raise ValueError(f"{label!r} is no name of a label: {'; '.join(errors)}")
        other = seen.setdefault(short_name(label).lower(), label)
        if other is not label:
            raise ValueError(f"{other} and {label} would be one domain; leave one of them out")


def find_home_domain(
    wanted: DomainLabels, node: Node | None, *, node_name: str
) -> HomeDomain | DomainNotKnown:
    """Where the node is; without labels to read it is nowhere in particular."""
    if not wanted.labels:
        return HomeDomain(topology={}, path=())
    if node is None:
        return DomainNotKnown(status=f"There is no node {node_name}; set the node id to its name.")
    values = [node.metadata.labels.get(label, "") for label in wanted.labels]
    missing = tuple(label for label, value in zip(wanted.labels, values, strict=True) if not value)
    if missing:
        return DomainNotKnown(status=_waiting(node_name, missing), missing=missing)
    keys = (wanted.key(level) for level in wanted.levels)
    return HomeDomain(topology=dict(zip(keys, values, strict=True)), path=tuple(values))


def _waiting(node_name: str, missing: tuple[str, ...]) -> str:
    noun = "label" if len(missing) == 1 else "labels"
    return f"Node {node_name} has no {noun} {', '.join(missing)}; waiting until it is labelled."


def compatible_topology(
    domain_labels: str, *, driver: str, node: Node | None
) -> dict[str, str] | DomainLabelProblem:
    """What ceph-csi answers; empty: no labels are to be read.

    Of two labels with the same short name ceph-csi takes any; here the one named last counts.
    """
    if not domain_labels:
        return {}
    if len(topology_prefix(driver).encode()) > LONGEST_PREFIX:
        return DomainLabelProblem.PREFIX_TOO_LONG
    labels = compatible_labels(domain_labels)
    if len(set(labels)) < len(labels):
        return DomainLabelProblem.DUPLICATE_LABEL
    if node is None:
        return DomainLabelProblem.NODE_NOT_FOUND
    if not node.metadata.labels.keys() >= set(labels):
        return DomainLabelProblem.MISSING_LABELS
    prefix = topology_prefix(driver)
    return {f"{prefix}/{short_name(label)}": node.metadata.labels[label] for label in labels}
