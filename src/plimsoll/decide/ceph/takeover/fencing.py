"""Which domains are to be fenced, which are to be released, and what stands in the way.

A domain is fenced because the map says so, before any other node serves it, and unless not one of
its pools would survive. It is released when the map does not name it any more and no node outside
of it serves it, runs a pod with a volume of it, or has such a volume attached. What is decided
depends on what the driver, the map and the cluster say now, so a new controller goes on where
another one ended. It counts on no fence of a former one before the driver has confirmed it.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from plimsoll.decide.ceph.takeover.objections import PoolCopies, find_objection
from plimsoll.decide.ceph.takeover.served_labels import DomainPath
from plimsoll.decide.ceph.takeover.takeovers import find_takeovers
from plimsoll.decide.ceph.takeover.view import (
    TakeoverView,
    is_in_any,
    is_within,
    labels_within,
)

MOST_NAMED = 3
"""So many pods or volumes are named in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fencing:
    fence: tuple[DomainPath, ...] = ()
    release: tuple[DomainPath, ...] = ()
    refused: Mapping[DomainPath, str] = field(default_factory=dict)
    """Takeovers that would help no volume, and why."""
    remarks: Mapping[DomainPath, str] = field(default_factory=dict)
    """Of takeovers that help some volumes and not all of them."""
    waiting: Mapping[DomainPath, str] = field(default_factory=dict)
    """Domains that cannot be released yet, and why."""


def wanted_fences(view: TakeoverView) -> tuple[DomainPath, ...]:
    """Domains that the map gives to others and that are not fenced yet."""
    return tuple(each for each in find_takeovers(view).sources if each not in view.fenced)


def inherited_fences(
    view: TakeoverView, confirmed: Collection[DomainPath]
) -> tuple[DomainPath, ...]:
    """Domains that the map gives to others and that a former leader has fenced. It may have gone
    on to release one, and its call may still come."""
    sources = find_takeovers(view).sources
    return tuple(each for each in sources if each in view.fenced and each not in confirmed)


def ended_fences(view: TakeoverView, confirmed: Collection[DomainPath]) -> tuple[DomainPath, ...]:
    """The same of domains that the map names no more. To ask for such a fence could begin it anew,
    on nodes that have just got their domain back: it is to be confirmed, or not counted on."""
    sources = find_takeovers(view).sources
    return tuple(
        sorted(each for each in view.fenced if each not in sources and each not in confirmed)
    )


def count_on_confirmed(view: TakeoverView, confirmed: Collection[DomainPath]) -> TakeoverView:
    """Where a late call of a former leader may end the fence at any moment, nothing is served
    because of it. The nodes of the domain get no volumes before it has ended."""
    uncertain = tuple(each for each in view.fenced if each not in confirmed)
    if view.closed is None or not uncertain:
        return view
    fenced = tuple(each for each in view.fenced if each in confirmed)
    return replace(view, fenced=fenced, closed=(*view.closed, *uncertain))


def decide_fencing(
    view: TakeoverView, copies: Mapping[DomainPath, Collection[PoolCopies]]
) -> Fencing:
    """`copies` of the pools that have data in each of the wanted fences."""
    takeovers = find_takeovers(view)
    objections = {domain: _objections(copies.get(domain, ())) for domain in takeovers.sources}
    refused = {
        domain: " ".join(found)
        for domain, found in objections.items()
        if found and len(found) == len(copies.get(domain, ()))
    }
    wanted = [domain for domain in wanted_fences(view) if domain not in refused]
    known = (*view.fenced, *(view.closed or ()))
    ended = [] if takeovers.problems else sorted({*known} - {*takeovers.sources})
    waiting = {domain: why for domain in ended if (why := find_dependence(view, domain))}
    return Fencing(
        fence=tuple(wanted),
        release=tuple(domain for domain in ended if domain not in waiting),
        refused={each: why for each, why in refused.items() if each not in view.fenced},
        remarks={
            domain: " ".join(found)
            for domain, found in objections.items()
            if found and domain not in refused
        },
        waiting=waiting,
    )


def _objections(copies: Collection[PoolCopies]) -> list[str]:
    return [found for each in copies if (found := find_objection(each))]


def find_dependence(view: TakeoverView, domain: DomainPath) -> str:
    """Why the domain cannot be released; empty: nothing outside of it depends on it."""
    homes = view.homes
    outside = {node.name for node in view.nodes if not is_within(homes.get(node.name, ()), domain)}
    labels = labels_within(view, domain)
    # Of two that are given back together neither may go because of the other one.
    stay = [other for other in find_takeovers(view).sources if other in view.fenced]
    for other in stay:
        if is_in_any(other, [domain]) or is_in_any(domain, [other]):
            labels -= labels_within(view, other)
    reasons = (
        *_serving(view, outside, labels),
        *_running(view, outside, labels),
        *_attached(view, outside, labels),
    )
    return next(iter(reasons), "")


def _serving(view: TakeoverView, outside: set[str], labels: frozenset[str]) -> Iterator[str]:
    nodes = [n.name for n in view.nodes if n.name in outside and labels & n.metadata.labels.keys()]
    if nodes:
        yield f"{_listed('node', nodes)} still serve it"


def _running(view: TakeoverView, outside: set[str], labels: frozenset[str]) -> Iterator[str]:
    users = view.users
    pods = {
        pod
        for (node, label), found in users.items()
        if node in outside and label in labels
        for pod in found
    }
    if pods:
        yield f"{_listed('pod', sorted(pods))} use volumes of it elsewhere"


def _attached(view: TakeoverView, outside: set[str], labels: frozenset[str]) -> Iterator[str]:
    required = view.required
    volumes = {
        name
        for attachment in view.attachments
        if attachment.spec.node_name in outside
        for name in attachment.volume_names
        if required.get(name, frozenset()) & labels
    }
    if volumes:
        yield f"{_listed('volume', sorted(volumes))} of it are attached elsewhere"


def _listed(kind: str, names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{kind}s {shown}" + (f" and {more} more" if more > 0 else "")
