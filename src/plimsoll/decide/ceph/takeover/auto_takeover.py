"""When the controller edits the takeover map itself: a domain is lost, or is back.

A domain is lost when each of its nodes has not been ready for some time, while another domain has
nodes that are. Then the map gets an entry for it, unless one of its pools would not survive. It is
back when all of its nodes have been ready for some time; then the entry goes. Only one domain is
taken over at a time: where the map has an entry already, or several domains are lost at once, an
administrator decides. An entry that the controller did not make is never touched.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from plimsoll.api.core import Node
from plimsoll.api.meta import find_condition
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.objections import PoolCopies, find_objection
from plimsoll.decide.ceph.takeover.served_labels import DomainPath, wider_paths
from plimsoll.decide.ceph.takeover.takeover_map import TakeoverMap, find_domain
from plimsoll.decide.ceph.takeover.view import TakeoverView, is_in_any, is_within

READY = "Ready"
LOST_AFTER = timedelta(minutes=5)
BACK_AFTER = timedelta(minutes=5)


class AutoTakeoverMode(StrEnum):
    """As `--auto-takeover` takes them."""

    OFF = "off"
    DRY_RUN = "dry-run"
    """Only tell by events what would be done."""
    ON = "on"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoTakeoverView:
    domains: DomainLabels
    nodes: Sequence[Node]
    takeover: TakeoverMap = field(default_factory=TakeoverMap)
    own: Collection[str] = ()
    """Sources in the map that the controller itself has added."""
    now: datetime
    lost_after: timedelta = LOST_AFTER
    back_after: timedelta = BACK_AFTER


@dataclass(frozen=True, slots=True, kw_only=True)
class AddTakeover:
    source: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTakeover:
    source: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveToPeople:
    """A domain is lost, and the controller does not take it over."""

    source: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveMap:
    """Nothing is lost, or it is not known for long enough."""


AutoTakeoverStep = AddTakeover | EndTakeover | LeaveToPeople | LeaveMap
LEAVE_MAP = LeaveMap()


def find_lost_domains(view: AutoTakeoverView) -> tuple[DomainPath, ...]:
    """The widest ones, by name; none where no node of another domain is ready."""
    nodes = _nodes_by_domain(view)
    lost = [
        path for path, inside in sorted(nodes.items()) if all(_is_lost(n, view) for n in inside)
    ]
    if not any(node.is_ready for inside in nodes.values() for node in inside):
        return ()
    return tuple(path for path in lost if not is_in_any(path[:-1], lost))


def decide_auto_takeover(
    view: AutoTakeoverView, copies: Mapping[DomainPath, Collection[PoolCopies]]
) -> AutoTakeoverStep:
    """`copies` of the pools in each of the lost domains; one is missing whose driver is silent."""
    if (back := next(_recovered(view), None)) is not None:
        return back
    lost = [path for path in find_lost_domains(view) if not _is_in_map(path, view)]
    if not lost:
        return LEAVE_MAP
    source = _name(lost[0])
    objection = _objection(lost, view, copies)
    if objection:
        return LeaveToPeople(source=source, why=objection)
    minutes = f"{view.lost_after.total_seconds():g} s"
    return AddTakeover(source=source, why=f"No node in {source} has been ready for {minutes}.")


def _objection(
    lost: Sequence[DomainPath],
    view: AutoTakeoverView,
    copies: Mapping[DomainPath, Collection[PoolCopies]],
) -> str:
    source = _name(lost[0])
    if len(lost) > 1:
        names = ", ".join(map(_name, lost))
        return f"Domains {names} are lost at once; write into the map which are to be taken over."
    if view.takeover.targets_by_source:
        names = ", ".join(sorted(view.takeover.targets_by_source))
        return f"{source} is lost while the map names {names}; add it to the map if it is to be."
    if lost[0] not in copies:
        return f"{source} is lost, and the driver does not say whether its pools survive that."
    return " ".join(found for each in copies[lost[0]] if (found := find_objection(each)))


def _recovered(view: AutoTakeoverView) -> Iterator[EndTakeover]:
    nodes = _nodes_by_domain(view)
    for source in sorted(set(view.own) & view.takeover.targets_by_source.keys()):
        path = _find(source, view)
        inside = nodes.get(path, ()) if path else ()
        if inside and all(_is_back(node, view) for node in inside):
            period = f"{view.back_after.total_seconds():g} s"
            yield EndTakeover(
                source=source, why=f"All nodes in {source} have been ready for {period}."
            )


def _find(source: str, view: AutoTakeoverView) -> DomainPath | None:
    try:
        return find_domain(source, _nodes_by_domain(view).keys())
    except ValueError:
        return None


def _is_in_map(path: DomainPath, view: AutoTakeoverView) -> bool:
    named = (_find(source, view) for source in view.takeover.targets_by_source)
    return any(source is not None and is_within(path, source) for source in named)


def _nodes_by_domain(view: AutoTakeoverView) -> dict[DomainPath, list[Node]]:
    homes = TakeoverView(domains=view.domains, nodes=view.nodes).homes
    found: dict[DomainPath, list[Node]] = {}
    for node in view.nodes:
        for path in wider_paths(homes.get(node.name, ())):
            found.setdefault(path, []).append(node)
    return found


def _is_lost(node: Node, view: AutoTakeoverView) -> bool:
    return not node.is_ready and view.now - _since(node, view.now) >= view.lost_after


def _is_back(node: Node, view: AutoTakeoverView) -> bool:
    return node.is_ready and view.now - _since(node, view.now) >= view.back_after


def _since(node: Node, now: datetime) -> datetime:
    """A node that does not say since when it is so is so since now."""
    ready = find_condition(node.status.conditions, READY)
    if ready is None:
        return node.metadata.creation_timestamp or now
    return ready.last_transition_time or now


def _name(path: DomainPath) -> str:
    return ".".join(path)
