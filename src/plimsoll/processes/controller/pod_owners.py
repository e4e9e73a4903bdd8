"""What the loops of workloads have in common: they own pods, and carry out what was decided.

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
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.cache.store import Change
from plimsoll.decide.plan import Create, Delete, Emit, Plan, Write
from plimsoll.decide.workloads.owned import (
    PODS,
    Membership,
    Workload,
    decide_membership,
    seen_as_leaving,
    warned,
)
from plimsoll.enact.enactor import Done, Obstacle, Overtaken
from plimsoll.processes.controller.loop import Loop, Tools
from plimsoll.runtime.clock import Clock
from plimsoll.wire.errors import KubeError

log = logging.getLogger(__name__)

W = TypeVar("W", bound=ApiObject)
T = TypeVar("T", bound=ApiObject)

BY_CONTROLLER = "controller"
BY_NAMESPACE = "namespace"
DELETION_BELIEVED = timedelta(minutes=1)


def controller_of(object_: ApiObject) -> Iterable[str]:
    """The uid of its controller; what has none is found under its namespace."""
    controller = object_.metadata.controller
    return (controller.uid if controller else orphans_of(object_.namespace),)


def orphans_of(namespace: str) -> str:
    return f"nobody/{namespace}"


def namespace_of(object_: ApiObject) -> Iterable[str]:
    return (object_.namespace,)


class Deletions:
    """Pods that we have deleted, until the watch has told of it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._deadlines: dict[str, float] = {}

    def note(self, uid: str) -> None:
        deadline = self._clock.monotonic() + DELETION_BELIEVED.total_seconds()
        self._deadlines[uid] = deadline

    def seen(self, change: Change[Pod]) -> None:
        before, after = change.before, change.after
        if before is not None and (
            after is None or after.uid != before.uid or after.is_being_deleted
        ):
            self._deadlines.pop(before.uid, None)

    def applied(self, pod: Pod) -> Pod:
        deadline = self._deadlines.get(pod.uid)
        if deadline is None or pod.is_being_deleted:
            return pod
        if self._clock.monotonic() > deadline:
            del self._deadlines[pod.uid]
            return pod
        return seen_as_leaving(pod)


class PodOwner(Loop, Generic[W]):
    """A loop about objects that own pods, each of which its `selector` should match."""

    workload: Workload

    def __init__(self, tools: Tools, type_: type[W]) -> None:
        super().__init__(tools)
        self._owners = tools.observed.of(type_)
        self._owners.index(BY_NAMESPACE, namespace_of)
        self._owners.on_change(self.add_changed)
        self._deletions = Deletions(tools.clock)
        self._pods = tools.observed.of(Pod)
        self._pods.index(BY_CONTROLLER, controller_of)
        self._pods.on_change(self._deletions.seen)
        self._pods.on_change(self._owned_changed)

    @abstractmethod
    def selector(self, owner: W) -> LabelSelector:
        """Of the objects that belong to the owner."""

    @abstractmethod
    async def tend(self, owner: W) -> timedelta | None:
        """Bring its pods closer to what they should be; when to look again without a change."""

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        owner = self._owners.view().get(key)
        return None if owner is None else await self.tend(owner)

    def _owned_changed(self, change: Change[T]) -> None:
        """Whoever owned it, owns it, or might now adopt it."""
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

    def pods_of(self, owner: W) -> Membership[Pod]:
        view = self._pods.view()
        own = view.by(BY_CONTROLLER, owner.uid).values()
        orphans = view.by(BY_CONTROLLER, orphans_of(owner.namespace)).values()
        selector = self.selector(owner)
        return decide_membership(
            owner,
            map(self._deletions.applied, (*own, *orphans)),
            of=(self.workload, PODS),
            matches=lambda pod: selector.matches(pod.labels) and self.is_eligible(owner, pod),
        )

    def is_eligible(self, owner: W, pod: Pod) -> bool:  # noqa: ARG002 - for loops that ask for more
        """What a pod must be besides matching the selector."""
        return True

    async def settle_ownership(self, owner: W, membership: Membership[T]) -> bool:
        """Whether all is as it should be; if not, the change of owners brings us back."""
        if not membership.plan.writes:
            return True
        if membership.adopts and not await self._still_exists(owner):
            return False
        self.finish(owner, await self.carry_out(owner, membership.plan))
        return False

    async def _still_exists(self, owner: W) -> bool:
        """The watch may be late: who adopts for an owner that was deleted has its pods deleted."""
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
            if isinstance(write, Delete) and write.resource == PODS:
                self._deletions.note(write.uid)
        return None

    async def _complain(self, owner: W, write: Write, error: KubeError) -> None:
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
