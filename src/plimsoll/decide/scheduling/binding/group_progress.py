"""How far the volumes of a group have come, by what the watch has shown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.provisioning.intents import Intent, IntentState
from plimsoll.decide.scheduling.binding.groups import Group, GroupedClaim
from plimsoll.decide.scheduling.binding.wait_for_volumes import (
    GivenUp,
    ObservedView,
    find_conflict,
    is_older,
)
from plimsoll.decide.scheduling.reasons import Finding, Reason, SeenObject


class GroupView(ObservedView, Protocol):
    def intent(self, claim_uid: str, hold: str) -> Intent | None:
        """The newest that a provisioner has stored for the claim while it had the hold of this id.
        Provisioners that serve one node each number theirs by themselves: another node's may have
        any number."""
        ...


@dataclass(frozen=True, slots=True)
class AllMade:
    """Every volume is there: the group can be published."""


@dataclass(frozen=True, slots=True)
class GroupWaiting:
    claim: ObjectKey


GroupProgress = AllMade | GroupWaiting | GivenUp

Written = Mapping[ObjectKey, PersistentVolumeClaim]
"""The claims as the server returned them when they were held."""


def check_group(group: Group, written: Written, view: GroupView) -> GroupProgress:
    if view.node(group.node) is None:
        sentence = f'failed to get node "{group.node}": node "{group.node}" not found'
        about = SeenObject("Node", ObjectKey("", group.node))
        return GivenUp(Finding(reason=Reason.NODE_NOT_FOUND, sentence=sentence, about=about))
    if not is_pod_there(group, view):
        sentence = f'pod does not exist any more: pod "{group.pod}" not found'
        return GivenUp(Finding(reason=Reason.POD_NOT_FOUND, sentence=sentence))
    return _worst(_check_claim(group, claim, written, view) for claim in group.claims)


def _worst(found: Iterable[GroupProgress]) -> GroupProgress:
    """One that is refused ends the wait for all others."""
    waiting: GroupProgress = AllMade()
    for each in found:
        if isinstance(each, GivenUp):
            return each
        if isinstance(each, GroupWaiting):
            waiting = each
    return waiting


def is_pod_there(group: Group, view: ObservedView) -> bool:
    pod = view.pod(group.pod_key)
    return pod is not None and pod.uid == group.pod_uid and not pod.is_being_deleted


def _check_claim(
    group: Group, held: GroupedClaim, written: Written, view: GroupView
) -> GroupProgress:
    key = group.key_of(held)
    claim = view.claim(key)
    if claim is None or claim.uid != held.uid or claim.is_being_deleted:
        sentence = f'PVC "{key.name}" is gone, or made anew'
        return _given_up(Reason.CLAIM_NOT_FOUND, sentence, key)
    if key in written and is_older(claim, written[key]):
        return GroupWaiting(key)
    if claim.spec.volume_name:
        return _check_bound(claim, group.node, view)
    if not group.has_hold_on(claim) or claim.annotations.get(SELECTED_NODE) != group.node:
        sentence = f'PVC "{key.name}" was given to another node or pod meanwhile'
        return _given_up(Reason.SELECTED_ELSEWHERE, sentence, key)
    intent = view.intent(claim.uid, group.hold_id)
    if intent is None:
        return GroupWaiting(key)
    if intent.state is IntentState.REFUSED:
        return _given_up(Reason.PROVISIONER_REFUSED, intent.refusal, key)
    return AllMade() if intent.state is IntentState.MADE else GroupWaiting(key)


def _check_bound(claim: PersistentVolumeClaim, node_name: str, view: GroupView) -> GroupProgress:
    """Another hand has bound it, to a volume that the node reaches or not."""
    node, volume = view.node(node_name), view.volume(claim.spec.volume_name)
    if node is None or volume is None:
        return GroupWaiting(claim.key)
    conflict = find_conflict(claim.key, volume, node, view)
    return AllMade() if conflict is None else GivenUp(conflict)


def _given_up(reason: Reason, sentence: str, claim: ObjectKey) -> GivenUp:
    return GivenUp(Finding(reason=reason, sentence=sentence, claim=claim))


def is_undone(group: Group, view: GroupView) -> bool:
    """Whether provisioners have confirmed that none of the volumes is there any more. A claim that
    is gone or another one needs no answer: its provisioner deletes what was made for it."""
    return all(_is_undone(group, claim, view) for claim in group.claims)


def _is_undone(group: Group, held: GroupedClaim, view: GroupView) -> bool:
    claim = view.claim(group.key_of(held))
    if claim is None or claim.uid != held.uid:
        return True
    intent = view.intent(held.uid, group.hold_id)
    return intent is None or not intent.state.is_open
