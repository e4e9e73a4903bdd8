"""One look at all nodes: which are silent, and of which the pods may be ended.

A survey is what is known after a look, and the argument of the next one. The time in which no look
was taken counts against no node: a controller that was stopped, or starved, finds old signs of
life, and that says nothing about the nodes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from plimsoll.api.core import Lease, Node
from plimsoll.api.meta import find_condition
from plimsoll.decide.cluster.node_lifecycle.health import (
    READY,
    GracePeriods,
    LastSign,
    is_silent,
    last_sign,
)
from plimsoll.decide.cluster.node_lifecycle.taints import EvictionLeave, is_given_up
from plimsoll.decide.cluster.node_lifecycle.zones import (
    EXCLUDED,
    EvictionRates,
    ZoneState,
    eviction_rate,
    zone_of,
    zone_state,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveySettings:
    every: timedelta = timedelta(seconds=5)
    grace: GracePeriods = field(default_factory=GracePeriods)
    rates: EvictionRates = field(default_factory=EvictionRates)


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    signs: Mapping[str, LastSign] = field(default_factory=dict)
    """By node."""
    silent: frozenset[str] = frozenset()
    granted: frozenset[str] = frozenset()
    """Nodes whose pods may be ended."""
    given_up_at: Mapping[str, float] = field(default_factory=dict)
    """By zone: when leave was last given for a node, on the monotonic clock."""
    is_halted: bool = False
    """No node was ready."""
    settled_at: float = 0.0
    """Until then, nodes that others found silent get the time to be heard of again."""
    looked_at: float | None = None

    def leave_for(self, node: str) -> EvictionLeave:
        if self.is_halted:
            return EvictionLeave.HALTED
        return EvictionLeave.GRANTED if node in self.granted else EvictionLeave.WAITING


NO_SURVEY = Survey()


def look(
    before: Survey,
    nodes: Iterable[Node],
    leases: Mapping[str, Lease],
    *,
    now: float,
    settings: SurveySettings,
) -> Survey:
    """`leases` by node, `now` on the monotonic clock."""
    nodes = sorted(nodes, key=lambda node: node.name)
    pause = _unwatched(before, now, settings.every)
    known = before.signs
    if pause:
        known = {n: replace(s, heard_at=s.heard_at + pause) for n, s in known.items()}
    signs = {n.name: last_sign(known.get(n.name), n, leases.get(n.name), now) for n in nodes}
    silent = frozenset(n for n, sign in signs.items() if is_silent(sign, settings.grace, now))
    zones = _ready_by_zone(nodes, silent)
    states = {zone: zone_state(ready, settings.rates) for zone, ready in zones.items()}
    is_halted = bool(states) and all(s is ZoneState.FULL_DISRUPTION for s in states.values())
    is_back = before.is_halted and not is_halted
    if is_back:
        signs = {name: replace(sign, heard_at=now) for name, sign in signs.items()}
        silent = frozenset()
    settled_at = before.settled_at
    if is_back or pause or before.looked_at is None:
        settled_at = now + settings.grace.running.total_seconds()
    after = Survey(
        signs=signs,
        silent=silent,
        given_up_at=before.given_up_at,
        is_halted=is_halted,
        settled_at=settled_at,
        looked_at=now,
    )
    if is_halted:
        return after
    rates = {z: eviction_rate(states[z], len(ready), settings.rates) for z, ready in zones.items()}
    return _with_leave(after, before.granted, nodes, rates)


def _unwatched(before: Survey, now: float, every: timedelta) -> float:
    """Seconds by which this look is delayed; a little is normal."""
    period = every.total_seconds()
    delay = 0.0 if before.looked_at is None else now - before.looked_at - period
    return delay if delay > period else 0.0


def _ready_by_zone(nodes: Iterable[Node], silent: frozenset[str]) -> dict[str, list[bool]]:
    zones: dict[str, list[bool]] = {}
    for node in nodes:
        if EXCLUDED not in node.labels:
            is_ready = node.is_ready and node.name not in silent
            zones.setdefault(zone_of(node), []).append(is_ready)
    return zones


def _with_leave(
    survey: Survey, granted: frozenset[str], nodes: Iterable[Node], rates: Mapping[str, float]
) -> Survey:
    """Leave that was given stays until it is used; more is given as fast as the zone allows."""
    now = survey.looked_at or 0.0
    given_up_at = dict(survey.given_up_at)
    leave: set[str] = set()
    for node in nodes:
        if not _is_lost(node, survey) or is_given_up(node):
            continue
        zone = zone_of(node)
        rate = rates.get(zone, 0.0)
        if node.name in granted:
            leave.add(node.name)
        elif rate > 0 and now - given_up_at.get(zone, float("-inf")) >= 1 / rate:
            given_up_at[zone] = now
            leave.add(node.name)
    return replace(survey, granted=frozenset(leave), given_up_at=given_up_at)


def _is_lost(node: Node, survey: Survey) -> bool:
    """Found silent just now; or it says itself that it is not ready; or it was found silent
    before, and there was time enough to hear of it again."""
    if node.name in survey.silent:
        return True
    ready = find_condition(node.status.conditions, READY)
    if ready is None or ready.holds:
        return False
    return ready.status == "False" or (survey.looked_at or 0.0) >= survey.settled_at
