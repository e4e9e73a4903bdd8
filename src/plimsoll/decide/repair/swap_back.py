"""What has to be gone before csi-provisioner takes the place of `plimsoll provisioner` again.

csi-provisioner knows neither intents nor groups nor holds. A volume that only an intent tells of
would stay with the driver for ever; a name that an intent keeps from being used again would be
used; a volume that is held back would be recorded before the others of its pod are there. A volume
that is being taken back is held by a finalizer that no other program takes off.

Records that nothing depends on any more may be cleared: their process would have done so itself.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import (
    RETAINED_BY,
    ROLLBACK,
    ROLLING_BACK,
    STORAGE_PROVISIONER,
    UNUSED_SINCE_MADE,
)
from plimsoll.decide.claims.writes import annotate
from plimsoll.decide.plan import Delete, Patch, ResourceName
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import (
    DRIVER,
    INTENT,
    PROVISIONER,
    Intent,
    IntentState,
    read_intent,
)
from plimsoll.decide.provisioning.recorded import is_recorded
from plimsoll.decide.records import RECORD
from plimsoll.decide.repair.orphaned_intents import is_orphaned
from plimsoll.decide.rollback.records import (
    ROLLBACK_KIND,
    RollbackRecord,
    RollbackState,
    read_rollback,
)
from plimsoll.decide.scheduling.binding.groups import GROUP, Group, read_group

LEASES = ResourceName("coordination.k8s.io", "v1", "leases")
ORPHANED = "Orphaned"
UNREADABLE = "unreadable"
SETTLED_BY_PROVISIONER = "let plimsoll provisioner run until it has settled this"


@dataclass(frozen=True, kw_only=True)
class SwapBackView:
    """What a cluster has, read after the records."""

    driver: str
    records: Sequence[Document] = ()
    """Leases with the label of records."""
    claims: Mapping[ObjectKey, PersistentVolumeClaim] = field(default_factory=dict)
    volumes: Sequence[PersistentVolume] = ()
    nodes: Collection[str] = ()
    provisioners: Mapping[str, str] = field(default_factory=dict)
    """By the name of the storage class."""

    def is_of_driver(self, claim: PersistentVolumeClaim) -> bool:
        named = claim.annotations.get(STORAGE_PROVISIONER)
        return self.driver in (named, self.provisioners.get(claim.storage_class))

    @cached_property
    def rollbacks(self) -> tuple[RollbackRecord, ...]:
        """Of volumes of any driver."""
        found = (read_rollback(lease) for lease in self.records)
        return tuple(record for record in found if record is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftRecord:
    what: str
    """The kind of record, with its state."""
    place: str
    """The object that holds it."""
    about: str
    """The claim or the pod that it is for."""
    why: str
    """If it may be cleared, why; otherwise what to do about it."""
    clearing: Delete | Patch | None = None
    """What clears it, if it is still as it was seen; None: it has to stay for now."""


def leftovers(view: SwapBackView) -> list[LeftRecord]:
    """In the order of their places."""
    found = [*_holds(view), *_marked_volumes(view), *_marked_claims(view)]
    finders = {
        INTENT: _intent,
        GROUP: _group,
        PROVISIONER: _announcement,
        ROLLBACK_KIND: _rollback,
    }
    for lease in view.records:
        finder = finders.get((lease["metadata"].get("labels") or {}).get(RECORD, ""))
        left = finder(lease, view) if finder else None
        if left is not None:
            found.append(left)
    return sorted(found, key=lambda each: (each.place, each.what))


def _intent(lease: Document, view: SwapBackView) -> LeftRecord | None:
    intent = read_intent(lease)
    if intent is None:
        return _unreadable(INTENT, lease) if _holder(lease) == view.driver else None
    if intent.driver != view.driver:
        return None
    state = ORPHANED if is_orphaned(intent, view.nodes) else intent.state.value
    reason = _why_cleared(intent, view)
    return LeftRecord(
        what=f"intent ({state})",
        place=_place(lease),
        about=f"claim {intent.claim_key}",
        why=reason or _advice(intent, state),
        clearing=_deletion(lease) if reason else None,
    )


def _why_cleared(intent: Intent, view: SwapBackView) -> str:
    """Why nothing depends on it any more; empty: something may."""
    if intent.state in (IntentState.UNDONE, IntentState.REFUSED):
        claim = view.claims.get(intent.claim_key)
        if claim is None or claim.uid != intent.uid:
            return "its claim is gone"
        return "its claim is bound" if claim.spec.volume_name else ""
    return "its volume is recorded" if is_recorded(intent.asset, view.volumes) else ""


def _advice(intent: Intent, state: str) -> str:
    match state:
        case "Orphaned":
            return (
                f"node {intent.node} is gone, and with it the provisioner that could settle this; "
                "once the storage of the node is gone as well, delete the lease"
            )
        case IntentState.UNDONE | IntentState.REFUSED:
            return (
                "csi-provisioner would use the name of a deleted volume again; wait until the claim"
                " is bound, or delete the claim"
            )
        case IntentState.STUCK | IntentState.SUSPECT:
            volume = intent.volume_id or intent.volume_name
            return f"look at volume {volume} at the driver, delete it by hand, then the lease"
        case _:
            return SETTLED_BY_PROVISIONER


def _group(lease: Document, view: SwapBackView) -> LeftRecord | None:
    group = read_group(lease)
    if group is None:
        return _unreadable(GROUP, lease)
    if group.is_over or not any(map(view.is_of_driver, _claims_of(group, view))):
        return None
    return LeftRecord(
        what=f"group ({group.state.value})",
        place=_place(lease),
        about=f"pod {group.pod_key}",
        why="let plimsoll scheduler run until it has placed the pod, or delete the pod",
    )


def _claims_of(group: Group, view: SwapBackView) -> Iterator[PersistentVolumeClaim]:
    for each in group.claims:
        claim = view.claims.get(group.key_of(each))
        if claim is not None and claim.uid == each.uid:
            yield claim


def _holds(view: SwapBackView) -> Iterator[LeftRecord]:
    """A claim that has its volume is not held any more, whatever its annotation says."""
    for key, claim in view.claims.items():
        if HOLD in claim.annotations and not claim.spec.volume_name and view.is_of_driver(claim):
            yield LeftRecord(
                what="hold",
                place=f"claim {key}",
                about=f"claim {key}",
                why="let plimsoll scheduler take it off; where none runs any more, take the "
                f"annotation {HOLD} off by hand",
            )


def _announcement(lease: Document, view: SwapBackView) -> LeftRecord | None:
    if (lease["metadata"].get("annotations") or {}).get(DRIVER) != view.driver:
        return None
    return LeftRecord(
        what="announcement",
        place=_place(lease),
        about=f"driver {view.driver}",
        why="schedulers are to hold back no further volumes of this driver",
        clearing=_deletion(lease),
    )


def _rollback(lease: Document, view: SwapBackView) -> LeftRecord | None:
    record = read_rollback(lease)
    if record is None:
        return _unreadable(ROLLBACK_KIND, lease) if _holder(lease) == view.driver else None
    if record.driver != view.driver:
        return None
    why = "let plimsoll controller run with --rollback on until it has ended"
    if record.state is RollbackState.KEPT:
        why = (
            f"a pod may have used volume {record.volume_name}: see whether its data is wanted, then"
            f" take the finalizer {ROLLBACK} off it, and let plimsoll controller run"
        )
    return LeftRecord(
        what=f"rollback ({record.state.value})",
        place=_place(lease),
        about=f"claim {record.claim_key}",
        why=why,
    )


def _marked_volumes(view: SwapBackView) -> Iterator[LeftRecord]:
    """Those of a rollback whose record is there go with it."""
    recorded = {record.volume_uid for record in view.rollbacks}
    for volume in view.volumes:
        source = volume.spec.csi
        if source is None or source.driver != view.driver or volume.uid in recorded:
            continue
        place = f"volume {volume.name}"
        about = f"claim {volume.spec.claim}" if volume.spec.claim else "-"
        if ROLLBACK in volume.metadata.finalizers or RETAINED_BY in volume.annotations:
            yield LeftRecord(
                what="volume of a rollback",
                place=place,
                about=about,
                why="no record tells of its rollback: see whether its data is wanted, then take "
                f"the finalizer {ROLLBACK} and the annotation {RETAINED_BY} off by hand",
            )
        elif UNUSED_SINCE_MADE in volume.annotations:
            yield LeftRecord(
                what="mark of an unused volume",
                place=place,
                about=about,
                why="the volume is to be taken back no more",
                clearing=annotate(volume, {UNUSED_SINCE_MADE: None}),
            )


def _marked_claims(view: SwapBackView) -> Iterator[LeftRecord]:
    recorded = {record.claim_uid for record in view.rollbacks}
    for key, claim in view.claims.items():
        is_left = ROLLING_BACK in claim.annotations and claim.uid not in recorded
        if is_left and view.is_of_driver(claim):
            yield LeftRecord(
                what="mark of a rollback",
                place=f"claim {key}",
                about=f"claim {key}",
                why="no record tells of its rollback: take the annotation "
                f"{ROLLING_BACK} off by hand",
            )


def _holder(lease: Document) -> str:
    holder: str = (lease.get("spec") or {}).get("holderIdentity") or ""
    return holder


def _deletion(lease: Document) -> Delete:
    metadata = lease["metadata"]
    return Delete(
        resource=LEASES,
        key=ObjectKey.of(lease),
        uid=metadata.get("uid", ""),
        version=metadata.get("resourceVersion", ""),
    )


def _unreadable(record: str, lease: Document) -> LeftRecord:
    why = "look at what it holds, and delete the lease by hand"
    what, place = f"{record} ({UNREADABLE})", _place(lease)
    return LeftRecord(what=what, place=place, about="-", why=why)


def _place(lease: Document) -> str:
    metadata = lease["metadata"]
    return f"lease {metadata['namespace']}/{metadata['name']}"
