"""A pod's delay-bound claims, read once, in the order in which they get volumes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.claims.match import Search, bytes_and_rank_of, bytes_of, rank_of
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
        return self.want.rank if self.want else rank_of(self._requests)

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
                size = bytes_of(claim.spec.resources.requests)
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
        if len(free) > 1:
            free.sort(key=lambda delayed: delayed.rank)
        return cls(
            tuple(here),
            tuple(free),
            frozenset(selected_nodes),
            is_readable,
            has_rivals=len(free) > 1
            and len({each.request.class_name for each in free}) < len(free),
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
    name, requests, kept = claim.storage_class, claim.spec.resources.requests, None
    of_class = volumes.by_class.get(name)
    if of_class is not None and of_class.keeps_any_for(claim.key):
        # Which labels does not matter: reach is looked at later.
        kept = of_class.find_kept(Search.of(claim, node_labels={}))
    size, rank = bytes_and_rank_of(requests)
    want = want_of(claim, rank) if kept is None else None
    request = ProvisioningQuery(name, size, "storage" in requests)
    return DelayedClaim(claim, request, kept, want, claim.spec.storage_class_name or name)
