"""A pod's late claims, read once, in the order in which they are served."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.columns.rules.making import Request
from plimsoll.decide.columns.shelves import Want, want_of
from plimsoll.decide.match import Search, size_of


class Policy(StrEnum):
    COMPATIBLE = "compatible"
    """Exactly what kube-scheduler would do."""
    DEFAULT = "default"
    """The same, but where greedy matching fails volumes are assigned as well as they can be."""


class LateClaim(NamedTuple):
    claim: PersistentVolumeClaim
    request: Request
    search: Search | None
    """None: it has a node already, and is not matched with volumes."""
    want: Want | None
    usage_class: str

    @classmethod
    def of(cls, claim: PersistentVolumeClaim, *, is_free: bool) -> "LateClaim":
        """Raises ValueError if a free claim cannot be read."""
        requests, name = claim.spec.resources.requests, claim.storage_class
        request = Request(name, size_of(requests).value, "storage" in requests)
        search = Search.of(claim, node_labels={}) if is_free else None
        want = None if search is None else want_of(search)
        return cls(claim, request, search, want, claim.spec.storage_class_name or name)


@dataclass(frozen=True, slots=True)
class LateClaims:
    """A pod's late claims in the order in which they are served."""

    here: tuple[LateClaim, ...]
    """Volumes are to be made for them on the node that they name."""
    free: tuple[LateClaim, ...]
    """The smallest first."""
    promised: frozenset[str]
    """The nodes that claims name already."""
    is_readable: bool = True

    @classmethod
    def of(cls, claims: Iterable[PersistentVolumeClaim]) -> "LateClaims":
        here, free, promised = [], [], set()
        is_readable = True
        for claim in claims:
            node = claim.annotations.get(SELECTED_NODE)
            try:
                late = LateClaim.of(claim, is_free=node is None)
            except ValueError:
                is_readable = False
                continue
            if node is None:
                free.append(late)
            else:
                here.append(late)
                promised.add(node)
        free.sort(key=size_in_nanos)
        return cls(tuple(here), tuple(free), frozenset(promised), is_readable)

    @property
    def all(self) -> tuple[LateClaim, ...]:
        return (*self.here, *self.free)


def size_in_nanos(late: LateClaim) -> int:
    return late.want.nanos if late.want else 0
