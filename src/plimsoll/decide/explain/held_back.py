"""A pod whose volumes are provisioned together: which of them are held, refused and given back.

Told from records: the group that the scheduler keeps, and the intents of provisioners. No other
object has it: a volume that is held back is recorded nowhere else, and one that was given back
leaves nothing behind. See `decide.scheduling.binding.groups`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from plimsoll.api.meta import ObjectKey, wire_time
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.explain.evidence import Evidence, RecordedGroup
from plimsoll.decide.explain.groups import SharedTrouble
from plimsoll.decide.provisioning.intents import Intent, IntentState
from plimsoll.decide.scheduling.binding.groups import Group, GroupedClaim, GroupState
from plimsoll.decide.scheduling.reasons import Reason, Rule, SeenObject
from plimsoll.decide.scheduling.view import ClusterView


class HeldState(StrEnum):
    """How far the volume of a held claim has come: what its provisioner has noted, or more."""

    NOTHING_NOTED = "NothingNoted"
    """The provisioner has noted nothing for this attempt."""
    CALLING = "Calling"
    MADE = "Made"
    REFUSED = "Refused"
    UNDOING = "Undoing"
    UNDONE = "Undone"
    STUCK = "Stuck"
    SUSPECT = "Suspect"
    BOUND = "Bound"
    """The volume is recorded, and the claim has it."""
    CLAIM_GONE = "ClaimGone"
    """The claim is gone, or another one has its name."""


THERE = (HeldState.MADE, HeldState.BOUND)
LEAVING = (HeldState.CALLING, HeldState.MADE, HeldState.UNDOING)
"""Of an attempt that ended: there may still be a volume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldClaim:
    key: ObjectKey
    state: HeldState
    is_held: bool
    """The claim carries the hold of this attempt."""
    provisioner: str = ""
    refusal: str = ""
    is_given_back: bool = False
    """A volume was made for the claim and deleted again, in this attempt or an earlier one."""
    number: int | None = None
    """Of the newest intent, whichever attempt it is of; None: there is none."""
    noted_in: SeenObject | None = None
    """The intent; None: there is none for this attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStory:
    group: Group
    noted_in: SeenObject
    claims: tuple[HeldClaim, ...]
    message: str
    """How far the attempt has come."""
    next_step: str
    """What is done next, and by which process."""

    @property
    def given_back(self) -> list[HeldClaim]:
        return [claim for claim in self.claims if claim.is_given_back]

    def find(self, key: ObjectKey) -> HeldClaim | None:
        return next((claim for claim in self.claims if claim.key == key), None)


def find_story(pod: Pod, view: ClusterView, evidence: Evidence) -> GroupStory | None:
    """None: no volumes are made together for the pod, or leases could not be read."""
    for found in evidence.groups:
        if (found.group.pod_key, found.group.pod_uid) == (pod.key, pod.uid):
            return _story(found, pod, view, evidence)
    return None


def find_story_of_claim(
    claim: PersistentVolumeClaim, pods: Iterable[Pod], view: ClusterView, evidence: Evidence
) -> GroupStory | None:
    """Of the group that holds the claim; `pods` are those that use it."""
    found = _holding(claim, evidence)
    if found is None:
        return None
    pod = next((pod for pod in pods if pod.uid == found.group.pod_uid), None)
    return _story(found, pod, view, evidence)


def held_elsewhere(pod: Pod, view: ClusterView, evidence: Evidence) -> Iterator[SharedTrouble]:
    """Claims of the pod that are held for another pod: the scheduler lets that one be first."""
    for key in dict.fromkeys(pod.claims):
        claim = view.claim(key)
        found = _holding(claim, evidence) if claim else None
        if found is not None and found.group.pod_uid != pod.uid:
            group = found.group
            yield SharedTrouble(
                rule=Rule.VOLUME_BINDING,
                reason=Reason.SELECTED_ELSEWHERE,
                sentence=f"claim {key.name} is held for pod {group.pod_key} on node {group.node} "
                f"(attempt {group.attempt}), which gets its volumes first",
                claim=key,
                about=SeenObject("Lease", found.lease.key),
            )


def _holding(claim: PersistentVolumeClaim, evidence: Evidence) -> RecordedGroup | None:
    """A hold that belongs to no group keeps no pod waiting: a tenant may have written it."""
    for found in evidence.groups:
        is_same_namespace = found.group.namespace == claim.namespace
        if is_same_namespace and not found.group.is_over and found.group.has_hold_on(claim):
            return found
    return None


# One group


def _story(
    found: RecordedGroup, pod: Pod | None, view: ClusterView, evidence: Evidence
) -> GroupStory:
    """`pod` None: it is gone."""
    group = found.group
    claims = tuple(_held_claim(group, each, view, evidence) for each in group.claims)
    return GroupStory(
        group=group,
        noted_in=SeenObject("Lease", found.lease.key),
        claims=claims,
        message=_message(group, claims),
        next_step=_next_step(_Outlook(group, claims, pod, evidence.now)),
    )


def _held_claim(
    group: Group, held: GroupedClaim, view: ClusterView, evidence: Evidence
) -> HeldClaim:
    key = group.key_of(held)
    claim = view.claim(key)
    if claim is None or claim.uid != held.uid:
        return HeldClaim(key=key, state=HeldState.CLAIM_GONE, is_held=False)
    storage_class = view.storage_class(claim.storage_class)
    noted = evidence.intents.get(held.uid, ())
    current = next((each for each in noted if each.intent.hold == group.hold_id), None)
    state = HeldState.BOUND if claim.spec.volume_name else HeldState.NOTHING_NOTED
    if current is not None and state is not HeldState.BOUND:
        state = HeldState(current.intent.state.value)
    return HeldClaim(
        key=key,
        state=state,
        is_held=group.has_hold_on(claim),
        provisioner=storage_class.provisioner if storage_class else "",
        refusal=current.intent.refusal if current and state is HeldState.REFUSED else "",
        is_given_back=any(_is_given_back(each.intent) for each in noted),
        number=noted[0].intent.number if noted else None,
        noted_in=SeenObject("Lease", current.lease.key) if current else None,
    )


def _is_given_back(intent: Intent) -> bool:
    """The number grows for the first time when a volume was undone. From then on a refusal uses up
    a number as well: how many volumes there were is not known from it."""
    is_undone = intent.state is IntentState.UNDONE and bool(intent.volume_id)
    return is_undone or intent.number > 0


def _message(group: Group, claims: tuple[HeldClaim, ...]) -> str:
    attempt = f"attempt {group.attempt}"
    ended = f"Attempt {group.attempt} on node {group.node} has ended"
    match group.state:
        case GroupState.PREPARING:
            return (
                f"Node {group.node} is selected ({attempt}): the volumes of {_named(claims)} are "
                "made there together, and none is recorded before all are there."
            )
        case GroupState.PUBLISHING:
            return (
                f"The volumes of {_named(claims)} are made on node {group.node} ({attempt}); their "
                "provisioners record them now."
            )
        case GroupState.UNDOING:
            return f"{ended}: the scheduler has what was made there for {_named(claims)} deleted."
        case GroupState.UNDONE if left := _in(claims, *LEAVING):
            return f"{ended}; that the volumes of {_named(left)} are deleted is not confirmed yet."
        case GroupState.UNDONE:
            return f"{ended}, and nothing of it is left there."


@dataclass(frozen=True, slots=True)
class _Outlook:
    """What the next step depends on."""

    group: Group
    claims: tuple[HeldClaim, ...]
    pod: Pod | None
    now: datetime

    @property
    def is_leaving(self) -> bool:
        return self.pod is None or self.pod.is_being_deleted

    @property
    def anew(self) -> str:
        return (
            f"chooses a node anew for attempt {self.group.attempt + 1}; it prefers other nodes "
            f"than {self.group.node}."
        )

    @property
    def then(self) -> str:
        """How a sentence about an attempt that ends goes on."""
        if self.is_leaving:
            return "; the pod is gone or being deleted, and nothing is tried for it any more."
        return f", and {self.anew}"


def _next_step(outlook: _Outlook) -> str:
    group, pod = outlook.group, outlook.pod
    match group.state:
        case GroupState.PUBLISHING | GroupState.UNDONE if pod is not None and pod.spec.node_name:
            return f"The pod is on node {pod.spec.node_name}: the scheduler deletes this record."
        case GroupState.PUBLISHING if outlook.is_leaving:
            return "The pod is gone or being deleted; its claims keep the volumes that were made."
        case GroupState.PUBLISHING if gone := _in(outlook.claims, HeldState.CLAIM_GONE):
            return f"Claim {_named(gone)} is gone: the pod waits until it is created again."
        case GroupState.PUBLISHING:
            return f"When all are bound, the scheduler binds the pod to node {group.node}."
        case GroupState.PREPARING:
            return _while_preparing(outlook)
        case GroupState.UNDOING:
            deleted = "When provisioners have deleted the volumes, the"
            who = deleted if _in(outlook.claims, *LEAVING) else "The"
            return f"{who} scheduler takes node {group.node} off the claims{outlook.then}"
        case GroupState.UNDONE:
            if outlook.is_leaving:
                return "The pod is gone or being deleted: the scheduler deletes this record."
            return f"The scheduler {outlook.anew}"


def _while_preparing(outlook: _Outlook) -> str:
    group, claims = outlook.group, outlook.claims
    given_back = f"the scheduler has what was made given back{outlook.then}"
    waiting = [claim for claim in claims if claim.state not in THERE]
    if refused := _in(claims, HeldState.REFUSED, HeldState.CLAIM_GONE):
        return f"The volume of {_named(refused)} cannot be had here: {given_back}"
    if outlook.is_leaving:
        return f"T{given_back[1:]}"
    if not waiting:
        return f"The scheduler has all volumes recorded, and binds the pod to node {group.node}."
    if group.deadline <= outlook.now:
        return f"The time of the attempt is up: {given_back}"
    return (
        f"The scheduler waits for the volumes of {_named(waiting)} until "
        f"{wire_time(group.deadline)}; if one is refused, it has the "
        "others given back."
    )


def _in(claims: Iterable[HeldClaim], *states: HeldState) -> list[HeldClaim]:
    return [claim for claim in claims if claim.state in states]


def _named(claims: Iterable[HeldClaim]) -> str:
    return ", ".join(claim.key.name for claim in claims)


# One claim


def tell_hold(story: GroupStory, held: HeldClaim) -> str:
    """What a held claim waits for."""
    group = story.group
    told = f"Held for pod {group.pod_key} on node {group.node} (attempt {group.attempt})"
    return f"{told}: {_wait_of(story, held)}"


def _wait_of(story: GroupStory, held: HeldClaim) -> str:
    provisioner = held.provisioner or "its provisioner"
    if story.group.state is GroupState.UNDOING and held.state in LEAVING:
        return f"the attempt has ended, and {provisioner} deletes the volume."
    match held.state:
        case HeldState.MADE if others := [c for c in story.claims if c.state not in THERE]:
            return f"its volume is made, and recorded once those of {_named(others)} are made."
        case HeldState.MADE:
            return f"its volume is made; {provisioner} records it when the hold is taken off."
        case HeldState.REFUSED:
            return f"{provisioner} refused it: {held.refusal}"
        case HeldState.CALLING:
            return f"{provisioner} is making its volume."
        case HeldState.UNDOING | HeldState.UNDONE:
            return (
                f"its volume is given back; the scheduler then takes node {story.group.node} off."
            )
        case HeldState.STUCK | HeldState.SUSPECT:
            return f"{provisioner} cannot settle its volume; the events of the claim say why."
        case HeldState.BOUND:
            return "its volume is recorded, and waits to be bound."
        case HeldState.NOTHING_NOTED | HeldState.CLAIM_GONE:
            return f"waits for {provisioner} to begin."
