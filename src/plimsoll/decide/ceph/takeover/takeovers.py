"""The entries of the map as domains: who takes over which, and what cannot be understood."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from plimsoll.decide.ceph.takeover.served_labels import DomainPath
from plimsoll.decide.ceph.takeover.takeover_map import ALL, find_domain
from plimsoll.decide.ceph.takeover.view import TakeoverView, is_in_any, is_within


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    source: DomainPath
    targets: tuple[DomainPath, ...] | None
    """None: every other domain."""

    def is_by(self, home: DomainPath) -> bool:
        if is_within(home, self.source):
            return False
        return self.targets is None or is_in_any(home, self.targets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeovers:
    found: tuple[Takeover, ...] = ()
    problems: tuple[str, ...] = ()
    """What cannot be understood in the map; while there are any, nothing is given back."""

    @property
    def sources(self) -> tuple[DomainPath, ...]:
        return tuple(each.source for each in self.found)


def find_takeovers(view: TakeoverView) -> Takeovers:
    if view.map_problem:
        return Takeovers(problems=(view.map_problem,))
    known, depth = view.known, len(view.domains.labels)
    found, problems = [], []
    for source, targets in sorted(view.takeover.targets_by_source.items()):
        try:
            found.append(_takeover(source, targets, known, depth))
        except ValueError as error:
            problems.append(f"Takeover of {source}: {error}.")
    return Takeovers(found=tuple(found), problems=tuple(problems))


def _takeover(
    source: str, targets: Iterable[str], known: Collection[DomainPath], depth: int
) -> Takeover:
    """A lost domain of which nothing is left in the cluster: its name is taken for its path."""
    path = find_domain(source, known) or tuple(source.split("."))
    if len(path) > depth:
        raise ValueError(f"it names {len(path)} levels, and nodes have {depth}")
    if ALL in targets:
        return Takeover(source=path, targets=None)
    named = [(name, find_domain(name, known)) for name in targets]
    if missing := [name for name, found in named if found is None]:
        raise ValueError(f"no node is in {', '.join(missing)}")
    return Takeover(source=path, targets=tuple(found for _, found in named if found))
