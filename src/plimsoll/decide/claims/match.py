"""Which existing volume suits a claim, and why the others do not.

A volume that is kept for the claim (it names the claim) goes before all others and has to pass
fewer checks: a user chose it on purpose. Of the free volumes the smallest that is large enough is
taken.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from plimsoll.api.meta import ObjectKey
from plimsoll.api.quantity import Quantity, parse_quantity, parse_rank, parse_value
from plimsoll.api.selectors.label import EVERYTHING, LabelSelector
from plimsoll.api.selectors.node import NodeSelector
from plimsoll.api.volumes import FILESYSTEM, PersistentVolume, PersistentVolumeClaim

AVAILABLE = "Available"


class Mismatch(StrEnum):
    """What speaks against a volume."""

    TAKEN = "ReservedForAnotherClaim"
    ALREADY_CHOSEN = "ChosenForAnotherClaimOfThePod"
    TOO_SMALL = "TooSmall"
    WRONG_VOLUME_MODE = "WrongVolumeMode"
    WRONG_ATTRIBUTES_CLASS = "WrongVolumeAttributesClass"
    BEING_DELETED = "BeingDeleted"
    LEFT_TO_SCHEDULER = "LeftToScheduler"
    NOT_AVAILABLE = "NotAvailable"
    WRONG_LABELS = "WrongLabels"
    WRONG_CLASS = "WrongClass"
    WRONG_ACCESS_MODES = "WrongAccessModes"
    UNREACHABLE = "UnreachableFromNode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What a claim looks for, read once, and where it looks."""

    claim: ObjectKey
    claim_uid: str
    requested: Quantity
    storage_class: str
    access_modes: frozenset[str]
    volume_mode: str
    attributes_class: str
    selector: LabelSelector
    node_labels: Mapping[str, str] | None = None
    """Those of the node that has to reach the volume; None: no node is known yet."""
    excluded: Collection[str] = ()
    """Names of volumes that the same pod uses for other claims."""
    waits_for_scheduler: bool = False
    """Only the scheduler may choose a free volume; a volume kept for the claim is no choice."""

    @classmethod
    def of(
        cls,
        claim: PersistentVolumeClaim,
        *,
        node_labels: Mapping[str, str] | None = None,
        excluded: Collection[str] = (),
        waits_for_scheduler: bool = False,
        knows_attributes_classes: bool = True,
    ) -> Self:
        """Raises ValueError if the claim's selector cannot be read, or if it asks for a
        VolumeAttributesClass in a cluster that has none."""
        if claim.spec.volume_attributes_class_name and not knows_attributes_classes:
            raise ValueError(
                f"unsupported volumeAttributesClassName is set on claim {claim.key} when the "
                "feature-gate VolumeAttributesClass is disabled"
            )
        return cls(
            claim=claim.key,
            claim_uid=claim.uid,
            requested=size_of(claim.spec.resources.requests),
            storage_class=claim.storage_class,
            access_modes=frozenset(claim.spec.access_modes),
            volume_mode=claim.spec.volume_mode or FILESYSTEM,
            attributes_class=claim.spec.volume_attributes_class_name or "",
            selector=claim_selector(claim),
            node_labels=node_labels,
            excluded=excluded,
            waits_for_scheduler=waits_for_scheduler,
        )


def claim_selector(claim: PersistentVolumeClaim) -> LabelSelector:
    """Of volumes. Raises ValueError if it cannot be read."""
    if claim.spec.selector is None:
        return EVERYTHING
    try:
        return LabelSelector.of(claim.spec.selector)
    except ValueError as error:
        raise ValueError(
            f"error creating internal label selector for claim: {claim.key}: {error}"
        ) from error


def size_of(quantities: Mapping[str, str]) -> Quantity:
    """The storage in a claim's requests or a volume's capacity; a missing one counts as zero."""
    return parse_quantity(quantities.get("storage", "0"))


def bytes_of(quantities: Mapping[str, str]) -> int:
    """The same in whole units."""
    return parse_value(quantities.get("storage", "0"))


def bytes_and_rank_of(quantities: Mapping[str, str]) -> tuple[int, int]:
    """Both at once: every claim of a waiting pod is asked for them."""
    text = quantities.get("storage", "0")
    return parse_value(text), parse_rank(text)


def rank_of(quantities: Mapping[str, str]) -> int:
    """The same as a number that sorts like it, see `Quantity.rank`."""
    return parse_rank(quantities.get("storage", "0"))


def is_kept_for(volume: PersistentVolume, claim: ObjectKey, uid: str) -> bool:
    """Whether the volume names the claim; one without a uid is kept for any claim of the name."""
    reference = volume.spec.claim_ref
    return reference is not None and reference.key == claim and reference.uid in ("", uid)


def mismatches(search: Search, volume: PersistentVolume) -> frozenset[Mismatch]:
    """Everything that speaks against the volume; empty means that it suits."""
    return frozenset(_against(search, volume))


def find_first_match(
    search: Search, candidates: Iterable[PersistentVolume]
) -> PersistentVolume | None:
    """For candidates that come best first, as `VolumeIndex.candidates` gives them."""
    return next((volume for volume in candidates if _suits(search, volume)), None)


def find_match(search: Search, volumes: Iterable[PersistentVolume]) -> PersistentVolume | None:
    """For volumes in any order; of equally large ones the first is taken.

    Without a node access modes are not checked: the volume index has sorted volumes by modes.
    """
    smallest: tuple[Quantity, PersistentVolume] | None = None
    ignored = {Mismatch.WRONG_ACCESS_MODES} if search.node_labels is None else set()
    for volume in volumes:
        against = mismatches(search, volume) - ignored
        if is_kept_for(volume, search.claim, search.claim_uid):
            if against == {Mismatch.UNREACHABLE}:
                # The claim has its volume already, it only does not fit this node.
                return None
            if not against:
                return volume
        elif not against:
            size = size_of(volume.spec.capacity)
            if smallest is None or size < smallest[0]:
                smallest = (size, volume)
    return smallest[1] if smallest else None


def find_objection(claim: PersistentVolumeClaim, volume: PersistentVolume) -> str | None:
    """Why a claim cannot have the volume that it asks for by name, in words for its user.

    Phase, labels and reach do not matter: a user who names a volume has chosen it.
    """
    spec, wanted = volume.spec, claim.spec
    objections = {
        f'the volume is marked for deletion "{volume.name}"': volume.is_being_deleted,
        # In whole bytes: a volume is not refused for a fraction of one.
        "requested PV is too small": (
            size_of(spec.capacity).value < size_of(wanted.resources.requests).value
        ),
        "storageClassName does not match": volume.storage_class != claim.storage_class,
        "volumeAttributesClassName does not match": (
            (spec.volume_attributes_class_name or "") != (wanted.volume_attributes_class_name or "")
        ),
        "incompatible volumeMode": has_other_volume_mode(claim, volume),
        "incompatible accessMode": not set(wanted.access_modes).issubset(spec.access_modes),
    }
    return next((objection for objection, applies in objections.items() if applies), None)


def has_other_volume_mode(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    return (claim.spec.volume_mode or FILESYSTEM) != (volume.spec.volume_mode or FILESYSTEM)


def _suits(search: Search, volume: PersistentVolume) -> bool:
    return next(_against(search, volume), None) is None


def _against(search: Search, volume: PersistentVolume) -> Iterator[Mismatch]:
    """Cheap checks first: most callers stop at the first mismatch."""
    spec = volume.spec
    is_kept = is_kept_for(volume, search.claim, search.claim_uid)
    if spec.claim_ref is not None and not is_kept:
        yield Mismatch.TAKEN
    if volume.name in search.excluded:
        yield Mismatch.ALREADY_CHOSEN
    if volume.is_being_deleted:
        yield Mismatch.BEING_DELETED
    if (spec.volume_mode or FILESYSTEM) != search.volume_mode:
        yield Mismatch.WRONG_VOLUME_MODE
    if (spec.volume_attributes_class_name or "") != search.attributes_class:
        yield Mismatch.WRONG_ATTRIBUTES_CLASS
    if size_of(spec.capacity) < search.requested:
        yield Mismatch.TOO_SMALL
    if is_kept:
        yield from _against_kept(search, volume)
    else:
        yield from _against_free(search, volume)
    if search.node_labels is not None and not is_reachable(volume, search.node_labels):
        yield Mismatch.UNREACHABLE


def _against_kept(search: Search, volume: PersistentVolume) -> Iterator[Mismatch]:
    """The scheduler takes a volume that is kept for the claim whatever its access modes are."""
    if search.node_labels is None and not search.access_modes.issubset(volume.spec.access_modes):
        yield Mismatch.WRONG_ACCESS_MODES


def _against_free(search: Search, volume: PersistentVolume) -> Iterator[Mismatch]:
    if search.waits_for_scheduler and search.node_labels is None:
        yield Mismatch.LEFT_TO_SCHEDULER
    if volume.status.phase != AVAILABLE:
        yield Mismatch.NOT_AVAILABLE
    if volume.storage_class != search.storage_class:
        yield Mismatch.WRONG_CLASS
    if not search.access_modes.issubset(volume.spec.access_modes):
        yield Mismatch.WRONG_ACCESS_MODES
    if not search.selector.matches(volume.labels):
        yield Mismatch.WRONG_LABELS


def is_reachable(volume: PersistentVolume, node_labels: Mapping[str, str]) -> bool:
    required = volume.spec.required_nodes
    return required is None or NodeSelector.of(required).matches(node_labels)
