"""Groups: the volumes of a pod with several claims are provisioned together, or not at all.

The scheduler notes the group in a Lease before it selects a node. Each claim whose provisioner
takes part gets a hold with the node (see `decide.provisioning.holds`): its volume is made, and not
recorded yet. What becomes of the group depends on all of them:

    Preparing ─→ Publishing ─→ (none)   all are made: the holds go, and there is no way back
              └→ Undoing ─→ Undone      one is refused, or time is up, or the pod is gone: the
                            │           holds say so, then node and hold go from each claim
                            └→ Preparing, under the next number, on another node

The record stays until the pod is on its node, or gone, and so does the number: what provisioners
say about an earlier attempt is never taken for an answer to a later one. Past the commit point it
stays until the claims are bound, too, so that no other pod begins another attempt with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.claims.writes import annotate
from plimsoll.decide.plan import Patch
from plimsoll.decide.provisioning.holds import HOLD, Hold, HoldAction, hold_of
from plimsoll.decide.records import RecordLease

GROUP = "group"
"""Value of the label of leases that are groups."""
CONTENT = "plimsoll.dev/group"
"""The annotation that holds one."""


FORGED = 10**9
"""No pod comes so far: numbers from here on were written by a tenant, and are not counted on."""


class GroupState(StrEnum):
    PREPARING = "Preparing"
    PUBLISHING = "Publishing"
    UNDOING = "Undoing"
    UNDONE = "Undone"


class GroupedClaim(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    uid: str


class EndedAttempt(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An attempt that came to nothing. Kept for those who look on: no decision depends on it."""

    attempt: int
    node: str
    why: str
    claim: str = ""
    """The name of the claim that ended it; empty: it was none."""


class Group(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    namespace: str
    pod: str
    pod_uid: str
    node: str
    attempt: int
    deadline: Annotated[datetime, msgspec.Meta(tz=True)]
    claims: tuple[GroupedClaim, ...]
    """Those that are held."""
    state: GroupState = GroupState.PREPARING
    why: str = ""
    """What ended the attempt, in a sentence."""
    why_claim: str = ""
    """The name of the claim that this is about; empty: it is about none."""
    before: EndedAttempt | None = None
    """The attempt before this one."""

    @property
    def name(self) -> str:
        """Of its lease."""
        return f"plimsoll-group-{self.pod_uid}"

    @property
    def pod_key(self) -> ObjectKey:
        return ObjectKey(self.namespace, self.pod)

    @property
    def is_over(self) -> bool:
        """Nothing is held any more; only the number counts."""
        return self.state is GroupState.UNDONE

    @property
    def ended(self) -> EndedAttempt | None:
        """The last attempt that came to nothing: this one, or the one before."""
        if self.state not in (GroupState.UNDOING, GroupState.UNDONE):
            return self.before
        return EndedAttempt(
            attempt=self.attempt, node=self.node, why=self.why, claim=self.why_claim
        )

    def hold(self, action: HoldAction) -> Hold:
        return Hold(self.pod_uid, self.attempt, action)

    @property
    def hold_id(self) -> str:
        return self.hold(HoldAction.MAKE).id

    def key_of(self, claim: GroupedClaim) -> ObjectKey:
        return ObjectKey(self.namespace, claim.name)

    def has_hold_on(self, claim: PersistentVolumeClaim) -> bool:
        """Whether the hold on the claim is of this attempt."""
        hold = hold_of(claim)
        return hold is not None and hold.id == self.hold_id


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGroup:
    group: Group
    lease: Document = field(default_factory=dict)
    """As the server has it; empty: it is not stored yet."""


def lease_document(stored: StoredGroup, namespace: str) -> Document:
    group = stored.group
    return RecordLease(
        namespace=namespace,
        name=group.name,
        record=GROUP,
        annotation=CONTENT,
        text=msgspec.json.encode(group).decode(),
        holder=group.node,
        stored=stored.lease,
    ).document


def read_group(lease: Document) -> Group | None:
    """None: the lease holds none that can be read."""
    return group_in((lease.get("metadata") or {}).get("annotations") or {})


def group_in(annotations: Mapping[str, str]) -> Group | None:
    try:
        return msgspec.json.decode(annotations.get(CONTENT, ""), type=Group)
    except msgspec.DecodeError:
        return None


def next_attempt(before: Group | None, claims: tuple[PersistentVolumeClaim, ...], uid: str) -> int:
    """A number that no provisioner was asked under. Where the record is lost, holds tell."""
    known = () if before is None else (before.attempt,)
    holds = (hold_of(claim) for claim in claims)
    found = (hold.attempt for hold in holds if hold is not None and hold.pod_uid == uid)
    return max((*known, *(each for each in found if each < FORGED)), default=-1) + 1


def hold_for(group: Group, claim: PersistentVolumeClaim) -> Patch:
    """Select the node, and have the volume held back."""
    wanted = {SELECTED_NODE: group.node, HOLD: str(group.hold(HoldAction.MAKE))}
    return _annotated(claim, wanted)


def undo(group: Group, claim: PersistentVolumeClaim) -> Patch | None:
    """Have the volume deleted; None: the claim is not held by this attempt, or told already."""
    hold = group.hold(HoldAction.UNDO)
    if not group.has_hold_on(claim) or hold_of(claim) == hold:
        return None
    return annotate(claim, {HOLD: str(hold)})


def clear(group: Group, claim: PersistentVolumeClaim) -> Patch | None:
    """Take hold and node off at once; None: the claim is not held by this attempt any more, or its
    volume is to be made. A second scheduler without an election may number its attempt alike: what
    it has begun since is not cleared before it is told to be undone."""
    if hold_of(claim) != group.hold(HoldAction.UNDO):
        return None
    gone: dict[str, str | None] = {HOLD: None}
    if not claim.spec.volume_name and claim.annotations.get(SELECTED_NODE) == group.node:
        gone[SELECTED_NODE] = None
    return annotate(claim, gone)


def release(group: Group, claim: PersistentVolumeClaim) -> Patch | None:
    """Let the volume be recorded."""
    return annotate(claim, {HOLD: None}) if group.has_hold_on(claim) else None


def awaits_volume(group: Group, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume that was made for the claim on the group's node is yet to be bound."""
    is_selected = claim.annotations.get(SELECTED_NODE) == group.node
    return is_selected and not claim.spec.volume_name


def release_bound(pod_uid: str, claim: PersistentVolumeClaim) -> Patch | None:
    """Take off what is left of any attempt for the pod; None: the claim has no hold of it, or may
    still get a volume for it."""
    hold = hold_of(claim)
    if hold is None or hold.pod_uid != pod_uid or not claim.spec.volume_name:
        return None
    return annotate(claim, {HOLD: None})


def release_forged(hold_id: str, claim: PersistentVolumeClaim) -> Patch | None:
    """Take off a hold that no group tells of; None: the claim has it no more, or has a volume."""
    hold = hold_of(claim)
    is_it = hold is not None and hold.id == hold_id and hold.action is HoldAction.MAKE
    return annotate(claim, {HOLD: None}) if is_it and not claim.spec.volume_name else None


def _annotated(claim: PersistentVolumeClaim, annotations: dict[str, str]) -> Patch:
    patch = annotate(claim, annotations)
    assert patch is not None  # noqa: S101 - there is something to write
    return patch
