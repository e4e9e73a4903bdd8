"""A pod's delay-bound claims, read once, in the order in which they get volumes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.claims.match import Search, size_of
from plimsoll.decide.scheduling.columns.free_volumes import Want, want_of
from plimsoll.decide.scheduling.columns.volumes import VolumeColumns
from plimsoll.decide.scheduling.placement.preference import PlacementOverride
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import ProvisioningQuery


class DelayedClaim(NamedTuple):
    claim: PersistentVolumeClaim
    request: ProvisioningQuery
    """For the case that a new volume is provisioned for it."""
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
    """New volumes are to be provisioned for them on the node that they name."""
    free: tuple[DelayedClaim, ...]
    """The smallest first."""
    selected_nodes: frozenset[str]
    """The nodes that claims name already."""
    is_readable: bool = True
    has_rivals: bool = False
    """Whether two of them look for volumes of the same class."""
    has_kept: bool = False
    """Whether a volume is kept for one of them."""
    override: PlacementOverride | None = None
    """What the pod prefers, whatever its classes say; None: it leaves that to them."""

    @classmethod
    def of(cls, claims: Iterable[PersistentVolumeClaim], volumes: VolumeColumns) -> "DelayedClaims":
        here, free, selected_nodes = [], [], set()
        is_readable = True
        matched: set[ObjectKey] = set()
        for claim in claims:
            node = claim.metadata.annotations.get(SELECTED_NODE)
            if node is not None:
                size = size_of(claim.spec.resources.requests).value
                here.append(_read(claim, claim.storage_class, size))
                selected_nodes.add(node)
                continue
            try:
                delayed = _read_free(claim, volumes)
            except ValueError:
                is_readable = False
                continue
            if delayed.kept and claim.key in matched:
                # Named twice by the pod: it has its volume, and gets no second one of those kept.
                delayed = delayed._replace(kept=None)
            matched.add(claim.key)
            free.append(delayed)
        free.sort(key=lambda delayed: delayed.rank)
        return cls(
            tuple(here),
            tuple(free),
            frozenset(selected_nodes),
            is_readable,
            has_rivals=len({each.request.class_name for each in free}) < len(free),
            has_kept=any(each.kept for each in free),
        )

    @property
    def all(self) -> tuple[DelayedClaim, ...]:
        return (*self.here, *self.free)


def naming_a_node(claims: Iterable[DelayedClaim]) -> set[ObjectKey]:
    """Claims that a node is selected for: what is reserved for them is theirs."""
    found = (delayed.claim for delayed in claims)
    return {claim.key for claim in found if SELECTED_NODE in claim.annotations}


def _read(claim: PersistentVolumeClaim, class_name: str, size: int) -> DelayedClaim:
    request = ProvisioningQuery(class_name, size, "storage" in claim.spec.resources.requests)
    usage_class = claim.spec.storage_class_name or class_name
    return DelayedClaim(claim, request, None, None, usage_class)


def _read_free(claim: PersistentVolumeClaim, volumes: VolumeColumns) -> DelayedClaim:
    """Raises ValueError if the claim cannot be read."""
    # Which labels does not matter: reach is looked at later.
    search = Search.of(claim, node_labels={})
    delayed = _read(claim, search.storage_class, search.requested.value)
    of_class = volumes.by_class.get(search.storage_class)
    kept = of_class.find_kept(search) if of_class else None
    return delayed._replace(kept=kept, want=None if kept else want_of(search))
