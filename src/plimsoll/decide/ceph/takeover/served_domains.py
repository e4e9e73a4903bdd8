"""Which domains each node serves: labels to add, to remove, and to keep for pods that need them.

A node serves the domains that it is in, unless one of them is fenced: then it can use no volume at
all. The map adds those that it takes over, once each is a fenced domain: nothing in it may still
write. Giveback is an entry that leaves the map: its label leaves the node, but not while a pod
there uses a volume that requires it, because the pod could not mount it again. If a pod was on its
way there when the label left, the label comes back while the domain is still fenced, by a fence
that no former leader can end: the pod could not start, and would keep the domain fenced. While a
name in the map cannot be understood, no label is removed at all. Takeovers do not add up: a domain
is served by the targets that its own entry names.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.decide.ceph.takeover.served_labels import (
    SERVED,
    DomainPath,
    served_label,
    served_prefix,
    wider_paths,
)
from plimsoll.decide.ceph.takeover.takeovers import Takeover, Takeovers, find_takeovers
from plimsoll.decide.ceph.takeover.view import (
    TakeoverView,
    is_in_any,
    labels_within,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLabel:
    label: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLabelChange:
    node: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[KeptLabel, ...] = ()
    """Labels that would be removed otherwise."""

    @property
    def says_something(self) -> bool:
        return bool(self.added or self.removed or self.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedDomains:
    changes: tuple[NodeLabelChange, ...] = ()
    """By node; of those nodes only for which there is something to do or to say."""
    waiting: tuple[str, ...] = ()
    """Takeovers that wait for a fence."""
    problems: tuple[str, ...] = ()
    """What cannot be understood in the map."""


def decide_served_domains(view: TakeoverView) -> ServedDomains:
    takeovers = find_takeovers(view)
    homes = view.homes
    decision = _Decision(
        view=view,
        takeovers=takeovers,
        labels={each: labels_within(view, each.source) for each in takeovers.found},
        users=view.users,
        given_back=_labels_given_back(view, takeovers),
    )
    nodes = sorted(view.nodes, key=lambda node: node.name)
    changes = (decision.change(node, homes.get(node.name, ())) for node in nodes)
    return ServedDomains(
        changes=tuple(change for change in changes if change.says_something),
        waiting=tuple(_wait(each) for each in takeovers.found if each not in decision.fenced),
        problems=takeovers.problems,
    )


def _wait(takeover: Takeover) -> str:
    return f"The takeover of {'.'.join(takeover.source)} waits until the domain is fenced."


def _labels_given_back(view: TakeoverView, takeovers: Takeovers) -> frozenset[str]:
    if takeovers.problems:
        return frozenset()
    ended = [domain for domain in view.fenced if not is_in_any(domain, takeovers.sources)]
    taken = (labels_within(view, source) for source in takeovers.sources)
    return frozenset[str]().union(*(labels_within(view, each) for each in ended)).difference(*taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    view: TakeoverView
    takeovers: Takeovers
    labels: Mapping[Takeover, frozenset[str]]
    """Of the domains that each of them gives to others."""
    users: Mapping[tuple[str, str], list[str]]
    given_back: frozenset[str]
    """Of domains that are still fenced, and that the map names no more."""

    @property
    def driver(self) -> str:
        return self.view.domains.driver

    @property
    def fenced(self) -> tuple[Takeover, ...]:
        return tuple(
            each for each in self.takeovers.found if is_in_any(each.source, self.view.fenced)
        )

    def change(self, node: Node, home: DomainPath) -> NodeLabelChange:
        """What was advertised once stays as long as the map names it, fence or not."""
        if self._is_unclear(home):
            return NodeLabelChange(node=node.name)
        labels = node.metadata.labels
        own = self._own(home)
        wanted = own | self._taken_over(home, self.fenced) | self._missed(node.name, home)
        present = {label for label in labels if label.startswith(served_prefix(self.driver))}
        surplus = sorted(present - own - self._taken_over(home, self.takeovers.found))
        kept = [kept for label in surplus if (kept := self._find_kept(node.name, home, label))]
        keeps = {item.label for item in kept}
        return NodeLabelChange(
            node=node.name,
            added=tuple(sorted(label for label in wanted if labels.get(label) != SERVED)),
            removed=tuple(label for label in surplus if label not in keeps),
            kept=tuple(kept),
        )

    def _is_unclear(self, home: DomainPath) -> bool:
        """Whether the node may be fenced, and the driver does not say so."""
        return self.view.closed is None and is_in_any(home, self.takeovers.sources)

    def _is_closed(self, home: DomainPath) -> bool:
        return is_in_any(home, (*self.view.fenced, *(self.view.closed or ())))

    def _own(self, home: DomainPath) -> frozenset[str]:
        if self._is_closed(home):
            return frozenset()
        return frozenset(served_label(self.driver, path) for path in wider_paths(home))

    def _taken_over(self, home: DomainPath, takeovers: Iterable[Takeover]) -> frozenset[str]:
        """None for a node that is nowhere, because it may be in the lost domain, and none for a
        node that is lost itself."""
        if not home or self._is_closed(home):
            return frozenset()
        taken = (self.labels[each] for each in takeovers if each.is_by(home))
        return frozenset().union(*taken)

    def _missed(self, node: str, home: DomainPath) -> frozenset[str]:
        """Labels of domains that are being given back, which left the node before a pod got there
        that a scheduler had put there because of them."""
        if not home or self._is_closed(home):
            return frozenset()
        return frozenset(label for label in self.given_back if (node, label) in self.users)

    def _find_kept(self, node: str, home: DomainPath, label: str) -> KeptLabel | None:
        domain = label.removeprefix(served_prefix(self.driver))
        pods = sorted(self.users.get((node, label), ()))
        if self.takeovers.problems:
            reason = f"Node {node} still serves {domain}: the map cannot be understood as a whole."
        elif pods and not self._is_closed(home):
            use = f"pod {pods[0]} uses" if len(pods) == 1 else f"pods {', '.join(pods)} use"
            reason = f"Node {node} still serves {domain}: {use} volumes of it."
        else:
            return None
        return KeptLabel(label=label, reason=reason)
