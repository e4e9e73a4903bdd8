"""What has to be gone before csi-provisioner takes the place of `plimsoll provisioner` again.

csi-provisioner knows neither intents nor groups nor holds. A volume that only an intent tells of
would stay with the driver for ever; a name that an intent keeps from being used again would be
used; a volume that is held back would be recorded before the others of its pod are there.

Records that nothing depends on any more may be cleared: their process would have done so itself.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import STORAGE_PROVISIONER
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
from plimsoll.decide.scheduling.binding.groups import GROUP, Group, read_group

ORPHANED = "Orphaned"
UNREADABLE = "unreadable"
SETTLED_BY_PROVISIONER = "let plimsoll provisioner run until it has settled this"


@dataclass(frozen=True, slots=True, kw_only=True)
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
    cleared: Document | None = None
    """The lease that may be deleted; None: it has to stay for now."""


def leftovers(view: SwapBackView) -> list[LeftRecord]:
    """In the order of their places."""
    found = [*_holds(view)]
    for lease in view.records:
        record = (lease["metadata"].get("labels") or {}).get(RECORD, "")
        finder = {INTENT: _intent, GROUP: _group, PROVISIONER: _announcement}.get(record)
        left = finder(lease, view) if finder else None
        if left is not None:
            found.append(left)
    return sorted(found, key=lambda each: (each.place, each.what))


def _intent(lease: Document, view: SwapBackView) -> LeftRecord | None:
    intent = read_intent(lease)
    if intent is None:
        holder = (lease.get("spec") or {}).get("holderIdentity")
        return _unreadable(INTENT, lease) if holder == view.driver else None
    if intent.driver != view.driver:
        return None
    state = ORPHANED if is_orphaned(intent, view.nodes) else intent.state.value
    reason = _why_cleared(intent, view)
    return LeftRecord(
        what=f"intent ({state})",
        place=_place(lease),
        about=f"claim {intent.claim_key}",
        why=reason or _advice(intent, state),
        cleared=lease if reason else None,
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
        cleared=lease,
    )


def _unreadable(record: str, lease: Document) -> LeftRecord:
    why = "look at what it holds, and delete the lease by hand"
    what, place = f"{record} ({UNREADABLE})", _place(lease)
    return LeftRecord(what=what, place=place, about="-", why=why)


def _place(lease: Document) -> str:
    metadata = lease["metadata"]
    return f"lease {metadata['namespace']}/{metadata['name']}"
