"""What the loops of workloads have in common: they own objects, mostly pods, and carry out plans.

Writes are made one by one, and each that went through is shown to all loops at once, even if the
next one does not. A pod that was deleted counts as leaving from then on, not only when the watch
says so: otherwise another one would be deleted in its place.
"""

import logging
from abc import abstractmethod
from collections.abc import Iterable
from datetime import timedelta
from typing import Generic, TypeVar

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.selectors.label import NOTHING, LabelSelector, LabelSelectorSpec
from plimsoll.cache.store import StoreChange
from plimsoll.decide.plan import Create, Delete, Emit, Plan, ResourceName, Write
from plimsoll.decide.resources import PODS
from plimsoll.decide.workloads.owned import (
    Membership,
    Workload,
    decide_membership,
    seen_as_leaving,
    warned,
)
from plimsoll.enact.enactor import Done, Obstacle, Overtaken
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.runtime.clock import Clock
from plimsoll.wire.errors import KubeError

log = logging.getLogger(__name__)

W = TypeVar("W", bound=ApiObject)
T = TypeVar("T", bound=ApiObject)
U = TypeVar("U", bound=ApiObject)

BY_CONTROLLER = "controller"
BY_NAMESPACE = "namespace"
DELETION_BELIEVED = timedelta(minutes=1)
NAMESPACE_TERMINATING = "NamespaceTerminating"
"""Why nothing can be created any more: no event can be stored either."""


def controller_of(object_: ApiObject) -> Iterable[str]:
    """The uid of its controller; what has none is found under its namespace."""
    controller = object_.metadata.controller
    return (controller.uid if controller else orphans_of(object_.namespace),)


def orphans_of(namespace: str) -> str:
    return f"orphans/{namespace}"


def namespace_of(object_: ApiObject) -> Iterable[str]:
    return (object_.namespace,)


def readable_selector(spec: LabelSelectorSpec | None) -> LabelSelector:
    """One that makes no sense selects nothing: the server would not have stored it today."""
    try:
        return LabelSelector.of(spec)
    except ValueError:
        return NOTHING


class Deletions:
    """What we have deleted, until the watch has told of it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._deadlines: dict[str, float] = {}

    def note(self, uid: str) -> None:
        deadline = self._clock.monotonic() + DELETION_BELIEVED.total_seconds()
        self._deadlines[uid] = deadline

    def seen(self, change: StoreChange[T]) -> None:
        before, after = change.before, change.after
        if before is not None and (
            after is None or after.uid != before.uid or after.is_being_deleted
        ):
            self._deadlines.pop(before.uid, None)

    def applied(self, object_: T) -> T:
        deadline = self._deadlines.get(object_.uid)
        if deadline is None or object_.is_being_deleted:
            return object_
        if self._clock.monotonic() > deadline:
            del self._deadlines[object_.uid]
            return object_
        return seen_as_leaving(object_)


class OwnerLoop(Loop, Generic[W, T]):
    """A loop about objects of one kind that own those of another."""

    workload: Workload
    owned: ResourceName = PODS

    def __init__(self, tools: Tools, type_: type[W], owned_type: type[T]) -> None:
        super().__init__(tools)
        self._owners = tools.observed.of(type_)
        self._owners.index(BY_NAMESPACE, namespace_of)
        self._owners.on_change(self.add_changed)
        self._deletions = Deletions(tools.clock)
        self._owned = tools.observed.of(owned_type)
        self._owned.index(BY_CONTROLLER, controller_of)
        self._owned.on_change(self._deletions.seen)
        self._owned.on_change(self._owned_changed)

    @abstractmethod
    def selector(self, owner: W) -> LabelSelector:
        """Of the objects that belong to the owner."""

    @abstractmethod
    async def tend(self, owner: W) -> timedelta | None:
        """Bring its pods closer to what they should be; when to look again without a change."""

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        owner = self._owners.view().get(key)
        return None if owner is None else await self.tend(owner)

    def essence(self, object_: T) -> object:
        """What the loop reads of an object that it owns: no other change wakes the workload."""
        return object_

    def _owned_changed(self, change: StoreChange[T]) -> None:
        before, after = change.before, change.after
        if before is None or after is None or self.essence(before) != self.essence(after):
            self.wake_owner(change)

    def wake_owner(self, change: StoreChange[U]) -> None:
        """Queues the workload that owned it, owns it, or might now adopt it."""
        before, after = change.before, change.after
        for object_ in (before, after):
            controller = object_.metadata.controller if object_ is not None else None
            if controller is not None and self.workload.owns(controller):
                self.queue.add(ObjectKey(change.key.namespace, controller.name))
        if after is None or after.metadata.controller is not None:
            return
        if before is None or before.labels != after.labels or before.metadata.controller:
            for owner in self._owners.view().by(BY_NAMESPACE, change.key.namespace).values():
                if self.selector(owner).matches(after.labels):
                    self.queue.add(owner.key)

    def members_of(self, owner: W) -> Membership[T]:
        view = self._owned.view()
        own = view.by(BY_CONTROLLER, owner.uid).values()
        orphans = view.by(BY_CONTROLLER, orphans_of(owner.namespace)).values()
        candidates = map(self._deletions.applied, (*own, *orphans))
        selector = self.selector(owner)
        return decide_membership(
            owner,
            (object_ for object_ in candidates if self.is_candidate(object_)),
            of=(self.workload, self.owned),
            matches=lambda object_: (
                selector.matches(object_.labels) and self.is_eligible(owner, object_)
            ),
        )

    def is_candidate(self, object_: T) -> bool:  # noqa: ARG002 - for loops that choose
        """What is not is neither adopted nor let go of."""
        return True

    def is_eligible(self, owner: W, object_: T) -> bool:  # noqa: ARG002 - for loops that ask for more
        """What an object must be besides matching the selector."""
        return True

    async def settle_ownership(self, owner: W, membership: Membership[U]) -> bool:
        """Whether all is as it should be; if not, the change of owners brings us back."""
        if not membership.plan.writes:
            return True
        if membership.adopts and not await self._still_exists(owner):
            return False
        self.finish(owner, await self.carry_out(owner, membership.plan))
        return False

    async def _still_exists(self, owner: W) -> bool:
        """Asks the server, as the watch may lag: a deleted owner must not adopt pods."""
        fresh = await self.tools.client.find(self._owners.kind, owner.key)
        return fresh is not None and fresh.uid == owner.uid and not fresh.is_being_deleted

    async def carry_out(self, owner: W, plan: Plan) -> Overtaken | Obstacle | None:
        """None when every write went through."""
        if plan.writes:
            fields = {"loop": self.name, "key": str(owner.key), "why": plan.reason}
            log.debug("decided", extra=fields)
        for write in plan.writes:
            outcome = await self.tools.enactor.enact(Plan(reason=plan.reason, writes=(write,)))
            if not isinstance(outcome, Done):
                if isinstance(outcome, Obstacle):
                    await self._complain(owner, write, outcome.error)
                return outcome
            self.tools.observed.written(outcome.left)
            if isinstance(write, Delete) and write.resource == self.owned:
                self._note_deletion(write)
        return None

    def _note_deletion(self, write: Delete) -> None:
        """Unless the watch was faster and has told already."""
        shown = self._owned.view().get(write.key)
        if shown is not None and shown.uid == write.uid and not shown.is_being_deleted:
            self._deletions.note(write.uid)

    async def _complain(self, owner: W, write: Write, error: KubeError) -> None:
        if any(cause.get("reason") == NAMESPACE_TERMINATING for cause in error.causes):
            return
        complaint = self.complaint(owner, write, error.message)
        if complaint is not None:
            await self.tools.enactor.enact(Plan(reason=complaint.reason, writes=(complaint,)))

    def complaint(self, owner: W, write: Write, problem: str) -> Emit | None:
        """What to tell the user when a write about pods is refused."""
        if isinstance(write, Create):
            return warned(self.workload, owner, "FailedCreate", f"Error creating: {problem}")
        if isinstance(write, Delete):
            return warned(self.workload, owner, "FailedDelete", f"Error deleting: {problem}")
        return None

    def finish(self, owner: W, failure: Overtaken | Obstacle | None) -> None:
        """What did not go through is decided again, after a delay that grows."""
        if failure is None:
            self.queue.forget(owner.key)
        else:
            self.queue.add_rate_limited(owner.key)
