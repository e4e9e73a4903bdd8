"""Where a volume must and should be reachable from.

For a claim that waits for no pod, wherever the driver runs, in an order that spreads StatefulSets;
for a claim with a selected node, near that node first. Without the driver's topology keys nothing
can be said, and the attempt waits.

What was found is remembered with the claim (TopologyMemory) until its attempt has ended, so that a
call which is repeated is the same call although labels have changed meanwhile.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NoReturn

from plimsoll.api.selectors.complaints import label_key_complaint, quoted
from plimsoll.api.selectors.topology import TopologyTermSpec
from plimsoll.api.storage import CSINode
from plimsoll.decide.provisioning.calls import AccessibilityRequirement, Segment
from plimsoll.decide.provisioning.settings import ProvisionerSettings
from plimsoll.decide.provisioning.topology.terms import (
    Term,
    flattened,
    in_order,
    is_within,
    rotated,
    spread_start,
    term_of,
)
from plimsoll.decide.provisioning.view import Places


class TopologyProblem(StrEnum):
    CSI_NODE_NOT_FOUND = "CSINodeNotFound"
    """The only problem that another node would solve."""
    NO_KEYS_ON_NODE = "NoTopologyKeysOnSelectedNode"
    LABELS_MISSING = "SelectedNodeLabelsMissing"
    NODE_NOT_ALLOWED = "SelectedNodeNotAllowed"
    NODE_NOT_REQUISITE = "SelectedNodeNotInRequisite"
    NO_TOPOLOGY = "NoAvailableTopology"
    KEYS_ON_NO_NODE = "TopologyKeysOnNoNode"
    INVALID_KEY = "InvalidTopologyKey"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyMemory:
    keys: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of the selected node."""
    terms: tuple[Term, ...] = ()
    """Of all nodes."""


NO_TOPOLOGY = TopologyMemory()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyRequest:
    driver: str
    claim_name: str
    allowed: tuple[TopologyTermSpec, ...] = ()
    selected_node: str = ""
    """Empty: the claim waits for no pod."""
    is_strict: bool = False
    """The driver is told of the selected node's segment alone."""
    is_told_at_once: bool = True
    """Whether a claim without a selected node gets a requirement at all."""

    @classmethod
    def of(
        cls,
        settings: ProvisionerSettings,
        claim_name: str,
        allowed: tuple[TopologyTermSpec, ...],
        selected_node: str,
    ) -> "TopologyRequest":
        return cls(
            driver=settings.driver,
            claim_name=claim_name,
            allowed=allowed,
            selected_node=selected_node,
            is_strict=settings.strict_topology,
            is_told_at_once=settings.immediate_topology,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    requirement: AccessibilityRequirement | None
    """None: the driver decides."""
    memory: TopologyMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class NotLocated:
    problem: TopologyProblem
    message: str
    memory: TopologyMemory


def locate(
    request: TopologyRequest, places: Places, memory: TopologyMemory
) -> Located | NotLocated:
    search = _Search(request, places, memory)
    try:
        requirement = search.requirement()
    except _NoPlaceError as none:
        return NotLocated(problem=none.problem, message=str(none), memory=search.memory)
    return Located(requirement=requirement, memory=search.memory)


class _NoPlaceError(Exception):
    def __init__(self, problem: TopologyProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


def _fail(problem: TopologyProblem, message: str) -> NoReturn:
    raise _NoPlaceError(problem, message)


class _Search:
    """Remembers what it found, also where the search then fails."""

    def __init__(self, request: TopologyRequest, places: Places, memory: TopologyMemory) -> None:
        self._request = request
        self._places = places
        self.memory = memory

    def requirement(self) -> AccessibilityRequirement | None:
        return (
            self._for_any_node() if not self._request.selected_node else self._for_selected_node()
        )

    def _for_any_node(self) -> AccessibilityRequirement | None:
        request = self._request
        if not request.allowed and not request.is_told_at_once:
            return None
        requisite = in_order(
            flattened(request.allowed)
            if request.allowed
            else self._terms_of(self._keys_of_any_node())
        )
        if not requisite:
            return None
        preferred = rotated(requisite, spread_start(request.claim_name, len(requisite)))
        return _requirement(requisite, preferred)

    def _for_selected_node(self) -> AccessibilityRequirement | None:
        request = self._request
        keys = self._keys_of_selected_node()
        selected = self._selected_segment(keys)
        if request.is_strict:
            self._check_allowed(selected)
            return _requirement([selected], [selected])
        requisite = in_order(
            flattened(request.allowed) if request.allowed else self._terms_of(keys)
        )
        if not requisite:
            return None
        for start, term in enumerate(requisite):
            if is_within(term, selected):
                return _requirement(requisite, rotated(requisite, start))
        _fail(
            TopologyProblem.NODE_NOT_REQUISITE,
            f"topology {_shown(selected)} from selected node {quoted(request.selected_node)} "
            f"is not in requisite: {_all_shown(requisite)}",
        )

    def _check_allowed(self, selected: Term) -> None:
        allowed = flattened(self._request.allowed)
        if self._request.allowed and not any(is_within(term, selected) for term in allowed):
            _fail(
                TopologyProblem.NODE_NOT_ALLOWED,
                f"selected node {quoted(self._request.selected_node)} topology {_shown(selected)} "
                f"is not in allowed topologies: {_all_shown(allowed)}",
            )

    def _keys_of_selected_node(self) -> tuple[str, ...]:
        if self.memory.keys:
            return self.memory.keys
        name = self._request.selected_node
        csi_node = self._places.csi_node(name)
        if csi_node is None:
            _fail(
                TopologyProblem.CSI_NODE_NOT_FOUND,
                f'failed to get selected CSINode {name}: csinode.storage.k8s.io "{name}" not found',
            )
        keys = self._keys_on(csi_node)
        if not keys:
            _fail(TopologyProblem.NO_KEYS_ON_NODE, f"no topology key found for node {name}")
        self.memory = replace(self.memory, keys=keys)
        return keys

    def _selected_segment(self, keys: tuple[str, ...]) -> Term:
        known = term_of(self.memory.labels, keys) if self.memory.labels else None
        if known is not None:
            return known
        node = self._places.node(self._request.selected_node)
        if node is not None and node.labels:
            self.memory = replace(self.memory, labels=node.labels)
        segment = None if node is None else term_of(node.labels, keys)
        if segment is None:
            _fail(
                TopologyProblem.LABELS_MISSING,
                f"topology labels from selected node {self._request.selected_node} "
                f"does not match topology keys from CSINode [{' '.join(keys)}]",
            )
        return segment

    def _keys_of_any_node(self) -> tuple[str, ...]:
        """Of the first one by name that has any: drivers use the same keys on all nodes."""
        if self.memory.keys:
            return self.memory.keys
        for csi_node in sorted(self._places.csi_nodes(), key=lambda node: node.name):
            if keys := self._keys_on(csi_node):
                self.memory = replace(self.memory, keys=keys)
                return keys
        _fail(TopologyProblem.NO_TOPOLOGY, "no available topology found")

    def _keys_on(self, csi_node: CSINode) -> tuple[str, ...]:
        driver = csi_node.find_driver(self._request.driver)
        return (driver.topology_keys or ()) if driver else ()

    def _terms_of(self, keys: tuple[str, ...]) -> tuple[Term, ...]:
        """What nodes with all these labels have there, whether or not they have the driver."""
        for key in keys:
            if complaint := label_key_complaint("key", key):
                _fail(
                    TopologyProblem.INVALID_KEY,
                    f"error parsing topology keys selector: {complaint}",
                )
        if self.memory.terms:
            return self.memory.terms
        found = (term_of(node.labels, keys) for node in self._places.nodes())
        terms = tuple(in_order(term for term in found if term))
        if not terms:
            _fail(
                TopologyProblem.KEYS_ON_NO_NODE,
                f"topologyKeys [{' '.join(keys)}] were not found on any nodes",
            )
        self.memory = replace(self.memory, terms=terms)
        return terms


def _requirement(requisite: Iterable[Term], preferred: Iterable[Term]) -> AccessibilityRequirement:
    return AccessibilityRequirement(requisite=_segments(requisite), preferred=_segments(preferred))


def _segments(terms: Iterable[Term]) -> tuple[Segment, ...]:
    return tuple(dict(term) for term in terms)


def _shown(term: Term) -> str:
    return "[" + " ".join(f"{key}={value}" for key, value in term) + "]"


def _all_shown(terms: Iterable[Term]) -> str:
    return "[" + " ".join(map(_shown, terms)) + "]"
