"""Which domains each node serves: labels to add, to remove, and to keep for pods that need them.

A node serves the domains that it is in. The map adds those that it takes over, once each is a
fenced domain: nothing in it may still write. Giveback is an entry that leaves the map: its label
leaves the node, but not while a pod there uses a volume that requires it, because the pod could not
mount it again. While a name in the map cannot be understood, no label is removed at all. Takeovers
do not add up: a domain is served by the targets that its own entry names.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.ceph.domain_labels import DomainLabels, HomeDomain, find_home_domain
from plimsoll.decide.ceph.takeover.served_labels import (
    SERVED,
    DomainPath,
    served_label,
    served_prefix,
    wider_paths,
)
from plimsoll.decide.ceph.takeover.takeover_map import ALL, TakeoverMap, find_domain


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeoverView:
    """What the decision looks at."""

    domains: DomainLabels
    nodes: Sequence[Node]
    volumes: Sequence[PersistentVolume] = ()
    pods: Sequence[Pod] = ()
    takeover: TakeoverMap = field(default_factory=TakeoverMap)
    fenced: Collection[DomainPath] = ()
    """Lost domains from which nothing can write any more."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Takeover:
    source: DomainPath
    targets: tuple[DomainPath, ...] | None
    """None: every other domain."""

    def is_by(self, home: DomainPath) -> bool:
        if _is_within(home, self.source):
            return False
        return self.targets is None or any(_is_within(home, target) for target in self.targets)


def decide_served_domains(view: TakeoverView) -> ServedDomains:
    homes = _homes(view)
    known = {path for home in homes.values() for path in wider_paths(home)}
    takeovers, problems = _takeovers(view.takeover, known)
    fenced = [item for item in takeovers if _is_fenced(item.source, view.fenced)]
    required = _required_labels(view)
    decision = _Decision(
        driver=view.domains.driver,
        known=known,
        required=frozenset().union(*required.values()),
        takeovers=takeovers,
        fenced=fenced,
        users=_users(view, required),
        is_unsure=bool(problems),
    )
    nodes = sorted(view.nodes, key=lambda node: node.name)
    changes = (decision.change(node, homes.get(node.name, ())) for node in nodes)
    return ServedDomains(
        changes=tuple(change for change in changes if change.says_something),
        waiting=tuple(_wait(item) for item in takeovers if item not in fenced),
        problems=tuple(problems),
    )


def _homes(view: TakeoverView) -> dict[str, DomainPath]:
    found = {
        node.name: find_home_domain(view.domains, node, node_name=node.name) for node in view.nodes
    }
    return {name: home.path for name, home in found.items() if isinstance(home, HomeDomain)}


def _is_within(path: DomainPath, wider: DomainPath) -> bool:
    return path[: len(wider)] == wider


def _is_fenced(source: DomainPath, fenced: Collection[DomainPath]) -> bool:
    return any(_is_within(source, path) for path in fenced)


def _takeovers(
    takeover: TakeoverMap, known: Collection[DomainPath]
) -> tuple[list[_Takeover], list[str]]:
    found, problems = [], []
    for source, targets in sorted(takeover.targets_by_source.items()):
        try:
            found.append(_takeover(source, targets, known))
        except ValueError as error:
            problems.append(f"Takeover of {source}: {error}.")
    return found, problems


def _takeover(source: str, targets: Iterable[str], known: Collection[DomainPath]) -> _Takeover:
    """A lost domain may have no nodes any more: then its name is taken for its path."""
    path = find_domain(source, known) or tuple(source.split("."))
    if ALL in targets:
        return _Takeover(source=path, targets=None)
    named = [(name, find_domain(name, known)) for name in targets]
    if missing := [name for name, found in named if found is None]:
        raise ValueError(f"no node is in {', '.join(missing)}")
    return _Takeover(source=path, targets=tuple(found for _, found in named if found))


def _wait(takeover: _Takeover) -> str:
    return f"The takeover of {'.'.join(takeover.source)} waits until the domain is fenced."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    driver: str
    known: Collection[DomainPath]
    required: Collection[str]
    """Labels that volumes require."""
    takeovers: Sequence[_Takeover]
    fenced: Sequence[_Takeover]
    users: Mapping[tuple[str, str], Sequence[str]]
    is_unsure: bool

    def change(self, node: Node, home: DomainPath) -> NodeLabelChange:
        """What was advertised once stays as long as the map names it, fence or not."""
        labels = node.metadata.labels
        own = frozenset(served_label(self.driver, path) for path in wider_paths(home))
        wanted = own | self._taken_over(home, self.fenced)
        present = {label for label in labels if label.startswith(served_prefix(self.driver))}
        surplus = sorted(present - own - self._taken_over(home, self.takeovers))
        kept = [kept for label in surplus if (kept := self._find_kept(node.name, label))]
        keeps = {item.label for item in kept}
        return NodeLabelChange(
            node=node.name,
            added=tuple(sorted(label for label in wanted if labels.get(label) != SERVED)),
            removed=tuple(label for label in surplus if label not in keeps),
            kept=tuple(kept),
        )

    def _taken_over(self, home: DomainPath, takeovers: Iterable[_Takeover]) -> frozenset[str]:
        """None for a node that is nowhere: it may be in the lost domain."""
        taken = (item.source for item in takeovers if home and item.is_by(home))
        return frozenset(label for source in taken for label in self._within(source))

    def _within(self, source: DomainPath) -> Iterator[str]:
        """The domain and all that is in it, also where only volumes still know of it."""
        own = served_label(self.driver, source)
        yield own
        inner = (path for path in self.known if _is_within(path, source))
        yield from (served_label(self.driver, path) for path in inner)
        yield from (label for label in self.required if label.startswith(f"{own}."))

    def _find_kept(self, node: str, label: str) -> KeptLabel | None:
        domain = label.removeprefix(served_prefix(self.driver))
        if pods := sorted(self.users.get((node, label), ())):
            use = f"pod {pods[0]} uses" if len(pods) == 1 else f"pods {', '.join(pods)} use"
            reason = f"Node {node} still serves {domain}: {use} volumes of it."
        elif self.is_unsure:
            reason = f"Node {node} still serves {domain}: the map cannot be understood as a whole."
        else:
            return None
        return KeptLabel(label=label, reason=reason)


def _required_labels(view: TakeoverView) -> dict[ObjectKey, frozenset[str]]:
    """The labels of domains that the volume of each claim requires."""
    prefix = served_prefix(view.domains.driver)
    found: dict[ObjectKey, frozenset[str]] = {}
    for volume in view.volumes:
        if volume.spec.claim is not None:
            keys = (key for key in _affinity_keys(volume) if key.startswith(prefix))
            found[volume.spec.claim] = frozenset(keys)
    return found


def _affinity_keys(volume: PersistentVolume) -> Iterator[str]:
    required = volume.spec.required_nodes
    for term in required.node_selector_terms if required else ():
        yield from (expression.key for expression in term.match_expressions)


def _users(
    view: TakeoverView, required: Mapping[ObjectKey, frozenset[str]]
) -> dict[tuple[str, str], list[str]]:
    """The pods that need a label, by their node and the label."""
    users: dict[tuple[str, str], list[str]] = {}
    for pod in view.pods:
        if pod.spec.node_name and not pod.is_finished:
            needed = {label for claim in pod.claims for label in required.get(claim, ())}
            for label in needed:
                users.setdefault((pod.spec.node_name, label), []).append(str(pod.key))
    return users
