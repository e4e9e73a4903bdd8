"""What decisions about takeovers look at, and what follows from it: homes, domains, dependents."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import VolumeAttachment
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.ceph.domain_labels import DomainLabels, DomainNotKnown, HomeDomain
from plimsoll.decide.ceph.node_domain import KeptDomain, find_advertised_domain
from plimsoll.decide.ceph.takeover.served_labels import (
    DomainPath,
    parse_label,
    served_label,
    served_prefix,
    wider_paths,
)
from plimsoll.decide.ceph.takeover.takeover_map import TakeoverMap


@dataclass(frozen=True, kw_only=True)
class TakeoverView:
    """What follows from it is found out once: each domain of a map is decided by it."""

    domains: DomainLabels
    nodes: Sequence[Node]
    volumes: Sequence[PersistentVolume] = ()
    pods: Sequence[Pod] = ()
    claims: Sequence[PersistentVolumeClaim] = ()
    attachments: Sequence[VolumeAttachment] = ()
    takeover: TakeoverMap = field(default_factory=TakeoverMap)
    map_problem: str = ""
    """Why the map cannot be read; then it names no takeover, and none is ended either."""
    fenced: Collection[DomainPath] = ()
    """Lost domains from which nothing can write any more."""
    closed: Collection[DomainPath] | None = ()
    """Besides, domains whose nodes get no volumes: a fence was begun, or is not ended yet, or a
    former leader may end it. None: the driver does not say which are fenced."""

    @cached_property
    def homes(self) -> Mapping[str, DomainPath]:
        """By node, as its driver advertises it; nothing for a node that is nowhere."""
        found = ((node.name, _home_domain(self.domains, node)) for node in self.nodes)
        return {name: path for name, path in found if path is not None}

    @cached_property
    def required(self) -> Mapping[str, frozenset[str]]:
        """The labels of domains that each volume requires, by its name."""
        prefix = served_prefix(self.domains.driver)
        return {
            volume.name: frozenset(key for key in _affinity_keys(volume) if key.startswith(prefix))
            for volume in self.volumes
        }

    @cached_property
    def known(self) -> frozenset[DomainPath]:
        """Those of nodes, of volumes, and of the driver: a lost domain may have no nodes any
        more."""
        driver = self.domains.driver
        required = (label for labels in self.required.values() for label in labels)
        by_volumes = (path for label in required if (path := parse_label(driver, label)))
        paths = (*self.homes.values(), *by_volumes, *self.fenced, *(self.closed or ()))
        return frozenset(wider for path in paths for wider in wider_paths(path))

    @cached_property
    def users(self) -> Mapping[tuple[str, str], list[str]]:
        """The pods that need a label, by their node and the label."""
        by_claim = self._labels_by_claim()
        users: dict[tuple[str, str], list[str]] = {}
        for pod in self.pods if by_claim else ():
            if pod.spec.node_name and not pod.is_finished:
                needed = {label for claim in pod.claims for label in by_claim.get(claim, ())}
                for label in needed:
                    users.setdefault((pod.spec.node_name, label), []).append(str(pod.key))
        return users

    def _labels_by_claim(self) -> Mapping[ObjectKey, frozenset[str]]:
        return {
            volume.spec.claim: labels
            for volume in self.volumes
            if volume.spec.claim is not None and (labels := self.required[volume.name])
        }


def domain_segment(domains: DomainLabels, path: DomainPath) -> dict[str, str]:
    """As drivers name the domain."""
    return {domains.key(level): value for level, value in zip(domains.levels, path, strict=False)}


def find_domain_path(domains: DomainLabels, segment: Mapping[str, str]) -> DomainPath | None:
    """None: the segment is no domain of these levels."""
    path = tuple(segment.get(domains.key(level), "") for level in domains.levels)[: len(segment)]
    return path if all(path) and domain_segment(domains, path) == segment else None


def is_within(path: DomainPath, wider: DomainPath) -> bool:
    return path[: len(wider)] == wider


def is_in_any(path: DomainPath, domains: Iterable[DomainPath]) -> bool:
    return any(is_within(path, wider) for wider in domains)


def _home_domain(domains: DomainLabels, node: Node) -> DomainPath | None:
    """Fences go by it: a driver that keeps its old domain is not in the one of the new labels."""
    match find_advertised_domain(domains, node, node_name=node.name):
        case HomeDomain(path=path):
            return path
        case KeptDomain(topology=topology):
            return find_domain_path(domains, topology)
        case DomainNotKnown():
            return None


def labels_within(view: TakeoverView, domain: DomainPath) -> frozenset[str]:
    """Of the domain and all that is in it."""
    driver = view.domains.driver
    own = served_label(driver, domain)
    inner = (served_label(driver, path) for path in view.known if is_within(path, domain))
    required = frozenset[str]().union(*view.required.values())
    return frozenset((own, *inner, *(each for each in required if each.startswith(f"{own}."))))


def _affinity_keys(volume: PersistentVolume) -> Iterator[str]:
    required = volume.spec.required_nodes
    for term in required.node_selector_terms if required else ():
        yield from (expression.key for expression in term.match_expressions)
