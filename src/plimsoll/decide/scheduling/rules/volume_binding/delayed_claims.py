"""A pod's delay-bound claims, read once, in the order in which they get volumes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.claims.match import Search, size_of
from plimsoll.decide.scheduling.columns.free_volumes import Want, want_of
from plimsoll.decide.scheduling.columns.volumes import VolumeColumns
from plimsoll.decide.scheduling.rules.volume_binding.provisioning_columns import ProvisioningQuery


class Policy(StrEnum):
    COMPATIBLE = "compatible"
    """Exactly what kube-scheduler would do."""
    DEFAULT = "default"
    """The same, but where greedy matching fails volumes are assigned as well as they can be, and
    nodes that were refused to a pod are remembered."""


class DelayedClaim(NamedTuple):
    claim: PersistentVolumeClaim
    request: ProvisioningQuery
    """For the case that a volume is made for it."""
    kept: PersistentVolume | None
    """The volume that is kept for it: it gets that or none that exists."""
    want: Want | None
    """What it looks for among free volumes; None: it does not."""
    usage_class: str

    @property
    def rank(self) -> int:
        return self.want.rank if self.want else size_of(self._requests).rank

    @property
    def _requests(self) -> Mapping[str, str]:
        return self.claim.spec.resources.requests


@dataclass(frozen=True, slots=True)
class DelayedClaims:
    """In the order in which they get volumes."""

    here: tuple[DelayedClaim, ...]
    """Volumes are to be made for them on the node that they name."""
    free: tuple[DelayedClaim, ...]
    """The smallest first."""
    selected_nodes: frozenset[str]
    """The nodes that claims name already."""
    is_readable: bool = True

    @classmethod
    def of(cls, claims: Iterable[PersistentVolumeClaim], volumes: VolumeColumns) -> "DelayedClaims":
        here, free, selected_nodes = [], [], set()
        is_readable = True
        served: set[ObjectKey] = set()
        for claim in claims:
            node = claim.annotations.get(SELECTED_NODE)
            if node is not None:
                here.append(_read(claim))
                selected_nodes.add(node)
                continue
            try:
                delayed = _read_free(claim, volumes)
            except ValueError:
                is_readable = False
                continue
            if delayed.kept and claim.key in served:
                # Named twice by the pod: it has its volume, and gets no second one of those kept.
                delayed = delayed._replace(kept=None)
            served.add(claim.key)
            free.append(delayed)
        free.sort(key=lambda delayed: delayed.rank)
        return cls(tuple(here), tuple(free), frozenset(selected_nodes), is_readable)

    @property
    def all(self) -> tuple[DelayedClaim, ...]:
        return (*self.here, *self.free)

    @property
    def has_rivals(self) -> bool:
        """Whether two of them look for volumes of the same class."""
        names = [delayed.request.class_name for delayed in self.free]
        return len(set(names)) < len(names)

    @property
    def has_kept(self) -> bool:
        return any(delayed.kept for delayed in self.free)


def _read(claim: PersistentVolumeClaim) -> DelayedClaim:
    requests, name = claim.spec.resources.requests, claim.storage_class
    request = ProvisioningQuery(name, size_of(requests).value, "storage" in requests)
    return DelayedClaim(claim, request, None, None, claim.spec.storage_class_name or name)


def _read_free(claim: PersistentVolumeClaim, volumes: VolumeColumns) -> DelayedClaim:
    """Raises ValueError if the claim cannot be read."""
    # Which labels does not matter: reach is looked at later.
    search = Search.of(claim, node_labels={})
    delayed, of_class = _read(claim), volumes.of_class(claim.storage_class)
    kept = of_class.find_kept(search) if of_class else None
    return delayed._replace(kept=kept, want=None if kept else want_of(search))
