"""Bugs around volumes that are made and given back, to be found like those of `plants`."""

import dataclasses
from typing import Any

from msgspec.structs import replace

from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.capacity.reports import CapacityAnswer
from plimsoll.decide.claims.writes import annotate
from plimsoll.decide.plan import Patch
from plimsoll.decide.provisioning import outcomes, recorded
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import Intent, intent_in
from plimsoll.decide.repair import selected_node
from plimsoll.decide.scheduling.binding import group_progress, groups as group_decisions
from plimsoll.decide.scheduling.binding.groups import Group, GroupState
from plimsoll.processes.controller.rollback.loop import Rollbacks
from plimsoll.processes.controller.rollback.usage import UsageWatch
from plimsoll.processes.provisioner.capacity.queries import CapacityQueries
from plimsoll.processes.provisioner.claims import attempts
from plimsoll.processes.scheduler.binding.groups import Groups
from plimsoll.processes.scheduler.state import BY_CLAIM, Stores
from plimsoll.reconcile.intents import IntentBook


def _plant(owner: object, name: str, bug: object) -> None:
    assert hasattr(owner, name)
    setattr(owner, name, bug)


def skip_the_intent() -> None:
    """The driver is asked without an intent."""

    async def nothing(_book: IntentBook, _intent: Any) -> None:
        pass

    _plant(IntentBook, "begin", nothing)


def never_say_undo() -> None:
    """The hold of a group that is given up goes on saying that the volume is wanted, and stays."""
    _plant(group_decisions, "undo", lambda *_: None)
    _plant(group_decisions, "clear", lambda *_: None)


def forget_to_release() -> None:
    """The hold stays when all volumes are there."""
    _plant(group_decisions, "release", lambda *_: None)


def keep_groups_of_pods_that_are_gone() -> None:
    _plant(Groups, "_is_to_be_settled", lambda *_: False)


def forget_volumes_that_are_held_back() -> None:
    """A volume that is held back is not remembered by its intent."""

    async def forgotten(book: IntentBook, intent: Intent) -> bool:
        await book.drop(intent.uid)
        return True

    _plant(IntentBook, "hold_back", forgotten)


def use_the_same_name_again() -> None:
    """A volume that is made after another one was undone gets the name of that one."""
    _plant(attempts, "requested_name", lambda name, _number: name)


def look_for_no_handles() -> None:
    """That another program has recorded a volume counts only by the name of the object."""
    _plant(recorded, "_is_behind", lambda *_: False)


def report_with_the_newest_token() -> None:
    """A report of capacity says that it counts all volumes in that were recorded by the time when
    the answer came."""
    report = CapacityQueries._report  # noqa: SLF001 - the place of the bug

    async def later(self: Any, pair: Any, answer: CapacityAnswer) -> None:
        await report(self, pair, dataclasses.replace(answer, token=self._token()))

    _plant(CapacityQueries, "_report", later)


def set_the_mark_again() -> None:
    """A controller that is started anew, or has missed something, takes volumes for unused that no
    pod uses just then, and marks them."""
    find_doubt, look = UsageWatch.find_doubt, Rollbacks._look  # noqa: SLF001 - the place of the bug

    def believe(self: Any, volume: Any, nodes: Any) -> Any:
        self._notice_gap()
        self._made[volume.uid] = volume.name
        self._without_volume.add(volume.spec.claim_uid)
        return find_doubt(self, volume, nodes)

    async def mark_all(self: Any) -> None:
        self._marked.clear()
        for key in self._volumes.view().objects:
            await self._mark(key.name)
        await look(self)

    _plant(UsageWatch, "find_doubt", believe)
    _plant(Rollbacks, "_look", mark_all)


def repair_claims_that_are_held() -> None:
    """The rule `selected-node` takes the node off whatever claim it is on."""
    _plant(selected_node, "hold_of", lambda _claim: None)


def go_back_behind_the_commit_point() -> None:
    """A scheduler that finds a group which is being published does not go on with it, and begins
    another attempt."""
    _plant(Groups, "is_published", lambda *_: False)
    _plant(Groups, "_has_holds", lambda *_: False)


def record_volumes_that_are_held() -> None:
    """The provisioner does not wait for the other volumes of the pod."""
    _plant(outcomes, "held_back_by", lambda *_: "")


def clear_before_the_undo_is_durable() -> None:
    """Node and hold go off at once when a group is given up."""

    def clear(group: Group, claim: PersistentVolumeClaim) -> Patch | None:
        gone = {HOLD: None, SELECTED_NODE: None}
        return annotate(claim, gone) if group.has_hold_on(claim) else None

    async def only_clear(self: Groups, group: Group) -> None:
        await self._rewrite_all(group, clear)
        await self.book.write(replace(group, state=GroupState.UNDONE))

    _plant(Groups, "_finish_undo", only_clear)


def take_earlier_answers() -> None:
    """What a provisioner has said of an earlier attempt counts for this one."""
    check = group_progress._check_claim  # noqa: SLF001 - the place of the bug

    def check_any(group: Group, held: Any, written: Any, view: Any) -> Any:
        return check(group, held, written, _AnyAttempt(group, view))

    _plant(group_progress, "_check_claim", check_any)


class _AnyAttempt:
    """A view in which every intent is of this attempt."""

    def __init__(self, group: Group, view: Any) -> None:
        self._group = group
        self._view = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def intent(self, uid: str, _hold: str) -> Any:
        holds = (
            f"{self._group.pod_uid}/{attempt}" for attempt in range(self._group.attempt, -1, -1)
        )
        found = (self._view.intent(uid, hold) for hold in holds)
        return next((intent for intent in found if intent is not None), None)


def tell_volumes_of_nodes_by_name() -> None:
    """A volume that a node's own provisioner has made counts as recorded if that of another node
    is."""
    alike = property(lambda asset: not (asset.number or asset.is_given_up))
    _plant(recorded.Asset, "is_named_alike", alike)


def believe_the_highest_number_alone() -> None:
    """What the provisioner of one node has noted hides what another one notes for the claim."""
    known = Stores.intent

    def newest(stores: Stores, claim_uid: str, hold: str) -> Intent | None:
        leases = stores.records.snapshot().by(BY_CLAIM, claim_uid).values()
        found = [intent for lease in leases if (intent := intent_in(lease.annotations))]
        last = max(found, key=lambda intent: intent.number, default=None)
        return known(stores, claim_uid, hold) if last is not None and last.hold == hold else None

    _plant(Stores, "intent", newest)
