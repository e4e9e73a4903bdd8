"""Has the volumes of a pod provisioned together: holds them back until all are there, or has them
deleted again.

One binding works on a group at a time. A group that no binding works on, because the scheduler was
restarted or the pod went away, is settled beside: before the commit point it is undone, after it
finished. One that is finished stays until its claims have their volumes: another pod that has the
same claims must not have them made again.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import NamedTuple

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.plan import Patch, Plan
from plimsoll.decide.provisioning.holds import HOLD, Hold, hold_of
from plimsoll.decide.scheduling.binding import groups
from plimsoll.decide.scheduling.binding.bind_volumes import Choice
from plimsoll.decide.scheduling.binding.group_progress import (
    AllMade,
    GroupProgress,
    Written,
    check_group,
    is_pod_there,
    is_undone,
)
from plimsoll.decide.scheduling.binding.groups import Group, GroupedClaim, GroupState, next_attempt
from plimsoll.decide.scheduling.binding.wait_for_volumes import TIMED_OUT, GivenUp
from plimsoll.decide.scheduling.policy import scheduler_of
from plimsoll.decide.scheduling.reasons import Finding, Reason
from plimsoll.enact.enactor import Done
from plimsoll.processes.scheduler.binding.context import BindingContext
from plimsoll.processes.scheduler.binding.group_book import GroupBook
from plimsoll.processes.scheduler.metrics import GroupEnd, SchedulerMetrics
from plimsoll.reconcile.indexes import PODS_BY_CLAIM
from plimsoll.runtime.clock import NO_TIME
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import typed

log = logging.getLogger(__name__)

CLAIMS = typed(PersistentVolumeClaim)
UNDO_AWAITED = timedelta(seconds=10)
"""How long the pod waits for provisioners to confirm that its volumes are deleted. That they are to
be is durable by then; their names are not used again."""
SETTLED_EVERY = timedelta(seconds=5)
STRAYS_EVERY = timedelta(minutes=2)
"""How often groups are looked for that an earlier scheduler stored after this one had begun."""
DEADLINES_EVERY = timedelta(seconds=30)
ATTEMPTS = 5


class ForgedHold(NamedTuple):
    key: ObjectKey
    uid: str
    """Of the claim."""
    hold: str
    """Its id."""


class Groups:
    def __init__(
        self,
        context: BindingContext,
        book: GroupBook,
        metrics: SchedulerMetrics,
        *,
        does_without: Callable[[Pod], bool] = lambda _: False,
    ) -> None:
        """Pods that do without groups get none any more: what an earlier scheduler has begun for
        them is given back."""
        self._does_without = does_without
        self._context = context
        self._metrics = metrics
        self._client = context.client
        self._state = context.state
        self.book = book
        self._working: set[str] = set()
        """Uids of pods whose group a binding or a settlement works on."""
        self._due = asyncio.Event()
        self._changed: set[str] = set()
        """Uids of pods whose groups have to be looked at before all others are."""
        self._forged: frozenset[ForgedHold] = frozenset()
        """Holds that no group told of when strays were looked for last."""

    async def load(self) -> None:
        """What earlier schedulers have left, and what provisioners have noted."""
        while True:
            try:
                await self.book.load()
            except KubeError as error:
                log.warning("groups not read yet", extra={"why": str(error)})
                await self._client.clock.sleep(SETTLED_EVERY)
            else:
                break
        if self.book.is_allowed:
            await self._state.records_synced()

    # Who waits for whom

    def find_obstacle(self, pod: Pod) -> Finding | None:
        """Why the pod has to wait: what was begun for it is undone first, or another pod's group
        holds one of its claims."""
        own = self.book.find(pod.uid)
        if own is not None and (own.state is GroupState.UNDOING or pod.uid in self._working):
            sentence = f"volumes that were made for the pod on node {own.node} are given back first"
            return Finding(reason=Reason.CHANGED_MEANWHILE, sentence=sentence)
        for key in pod.claims:
            if group := self._holder(key, pod):
                sentence = (
                    f'PVC "{key.name}" is held for pod {group.pod_key} on node {group.node}, '
                    "which gets its volumes first"
                )
                return Finding(reason=Reason.SELECTED_ELSEWHERE, sentence=sentence, claim=key)
        return None

    def _holder(self, claim: ObjectKey, pod: Pod) -> Group | None:
        """The group of another pod that holds the claim."""
        seen = self._state.stores.claim(claim)
        for group in self.book.of_claim(claim) if seen is not None else ():
            is_other = group.pod_uid != pod.uid and not group.is_over
            if is_other and seen is not None and group.has_hold_on(seen):
                return group
        return None

    def takes_part(self, claim: PersistentVolumeClaim) -> bool:
        """Whether the provisioner of the claim respects holds."""
        if not self.book.is_allowed:
            return False
        storage_class = self._state.stores.storage_class(claim.storage_class)
        return storage_class is not None and self._state.stores.takes_part(
            storage_class.provisioner
        )

    def is_published(self, claim: PersistentVolumeClaim, node: str) -> bool:
        """Whether the claim is past the commit point on this node, be it for a pod that is gone:
        there is no way back."""
        if claim.annotations.get(SELECTED_NODE) != node:
            return False
        return any(
            group.state is GroupState.PUBLISHING
            and group.node == node
            and any(held.uid == claim.uid for held in group.claims)
            for group in self.book.of_claim(claim.key)
        )

    # One attempt

    async def make(self, pod: Pod, part: Choice) -> Choice | GivenUp:
        """Until the volumes of these claims are there and may be recorded; the claims as the server
        returned them then. Given up: nothing of it is left, or will be. Raises KubeError: what is
        left of it is settled later."""
        with self._work_on(pod.uid):
            try:
                return await self._make(pod, part)
            finally:
                self.observe_pod(pod.uid)

    async def _make(self, pod: Pod, part: Choice) -> Choice | GivenUp:
        # The next attempt is without claims that are bound: no record would name their holds.
        await self._release_bound(pod)
        group = self._begin(pod, part)
        await self.book.write(group)
        written = await self._hold(group, part)
        if isinstance(written, GivenUp):
            await self._undo(group, written.finding)
            return written
        progress = await self._wait(group, pod, written)
        if isinstance(progress, AllMade):
            return await self._publish(group, part)
        given_up = progress if isinstance(progress, GivenUp) else TIMED_OUT
        await self._undo(group, given_up.finding)
        return given_up

    @contextmanager
    def _work_on(self, pod_uid: str) -> Iterator[None]:
        self._working.add(pod_uid)
        try:
            yield
        finally:
            self._working.discard(pod_uid)

    def _begin(self, pod: Pod, part: Choice) -> Group:
        """A group that was being prepared for the same is continued; else another begins."""
        before = self.book.find(pod.uid)
        claims = tuple(GroupedClaim(each.name, each.uid) for each in part.provisions)
        is_same = before is not None and (
            before.state is GroupState.PREPARING
            and before.node == part.node
            and {*before.claims} == {*claims}
        )
        if before is not None and is_same:
            return before
        return Group(
            namespace=pod.namespace,
            pod=pod.name,
            pod_uid=pod.uid,
            node=part.node,
            attempt=next_attempt(before, part.provisions, pod.uid),
            deadline=self._client.clock.now() + self._context.timeout_of(pod),
            claims=claims,
            before=None if before is None else before.ended,
        )

    async def _hold(self, group: Group, part: Choice) -> Written | GivenUp:
        """Select the node and hold each claim, each on the version that was decided on."""
        plan = Plan(
            reason="VolumesHeldBack",
            writes=tuple(groups.hold_for(group, claim) for claim in part.provisions),
        )
        outcome = await self._context.enactor.enact(plan)
        if isinstance(outcome, Done):
            returned = [from_document(PersistentVolumeClaim, each) for each in outcome.left]
            return {claim.key: claim for claim in returned}
        sentence = f"holding volumes back: {outcome.error}"
        return GivenUp(Finding(reason=Reason.CHANGED_MEANWHILE, sentence=sentence))

    async def _wait(self, group: Group, pod: Pod, written: Written) -> GroupProgress:
        left = max(group.deadline - self._client.clock.now(), NO_TIME)
        awaited = Choice(node=group.node, awaited=tuple(written.values()))
        try:
            async with self._client.clock.timeout(left):
                with self._context.waiters.waiting(pod, awaited) as woken:
                    while True:
                        woken.clear()
                        progress = check_group(group, written, self._state.stores)
                        if isinstance(progress, AllMade | GivenUp):
                            return progress
                        await woken.wait()
        except TimeoutError:
            return TIMED_OUT

    async def _publish(self, group: Group, part: Choice) -> Choice:
        """The commit point: from here only forward. Raises KubeError."""
        group = msgspec.structs.replace(group, state=GroupState.PUBLISHING)
        await self.book.write(group)
        self._metrics.group_ended(GroupEnd.PUBLISHED)
        log.info("volumes made", extra={"pod": str(group.pod_key), "node": group.node})
        awaited = await self._release(group)
        return replace(part, awaited=awaited)

    async def _release(self, group: Group) -> tuple[PersistentVolumeClaim, ...]:
        return await self._rewrite_all(group, groups.release)

    async def _rewrite_all(
        self, group: Group, decide: Callable[[Group, PersistentVolumeClaim], Patch | None]
    ) -> tuple[PersistentVolumeClaim, ...]:
        """The claims that are still there, as they are then. Raises KubeError."""
        found = [
            await self._rewrite(group.key_of(held), held, partial(decide, group))
            for held in group.claims
        ]
        return tuple(claim for claim in found if claim is not None)

    async def _undo(self, group: Group, why: Finding) -> None:
        """Raises KubeError: then it is settled later."""
        facts = {"pod": str(group.pod_key), "node": group.node, "why": why.sentence}
        log.info("volumes given back", extra=facts)
        self._metrics.group_ended(GroupEnd.UNDONE)
        undoing = msgspec.structs.replace(
            group,
            state=GroupState.UNDOING,
            why=why.sentence,
            why_claim=why.claim.name if why.claim else "",
        )
        await self.book.write(undoing)
        await self._finish_undo(undoing)

    async def _finish_undo(self, group: Group) -> None:
        """Every step may have been made before. Raises KubeError."""
        for _ in range(ATTEMPTS):
            await self._rewrite_all(group, groups.undo)
            if self._state.stores.node(group.node) is not None:
                await self._wait_undone(group)
            left = await self._rewrite_all(group, groups.clear)
            if not any(group.has_hold_on(claim) for claim in left):
                break
        else:
            raise KubeError(Failure.CONFLICT, f"claims of pod {group.pod_key} are held anew")
        if is_pod_there(group, self._state.stores):
            await self.book.write(msgspec.structs.replace(group, state=GroupState.UNDONE))
        else:
            await self.book.delete(group.pod_uid)

    async def _wait_undone(self, group: Group) -> None:
        stores = self._state.stores
        keys = [group.key_of(held) for held in group.claims]
        try:
            async with self._client.clock.timeout(UNDO_AWAITED):
                with self._context.waiters.waiting_for_claims(keys) as woken:
                    while not is_undone(group, stores):
                        woken.clear()
                        await woken.wait()
        except TimeoutError:
            log.warning("deletion not confirmed in time", extra={"pod": str(group.pod_key)})

    async def _rewrite(
        self,
        key: ObjectKey,
        held: GroupedClaim,
        decide: Callable[[PersistentVolumeClaim], Patch | None],
    ) -> PersistentVolumeClaim | None:
        """Decide on the claim as the server has it, again after each conflict. None: it is gone, or
        another one. Raises KubeError."""
        for _ in range(ATTEMPTS):
            claim = await self._client.find(CLAIMS, key)
            if claim is None or claim.uid != held.uid:
                return None
            patch = decide(claim)
            if patch is None:
                return claim
            outcome = await self._context.enactor.enact(Plan(reason="Group", writes=(patch,)))
            if isinstance(outcome, Done):
                return from_document(PersistentVolumeClaim, outcome.left[0])
            if not outcome.error.is_passing and outcome.error.failure is not Failure.CONFLICT:
                raise outcome.error
        raise KubeError(Failure.CONFLICT, f"claim {key} changes all the time")

    async def end(self, pod: Pod) -> None:
        """The pod is on its node: nothing of its group is needed any more."""
        if self.book.find(pod.uid) is None:
            return
        with self._work_on(pod.uid):
            try:
                await self._release_bound(pod)
                await self.book.delete(pod.uid)
            except KubeError as error:
                log.debug("group left for later", extra={"pod": pod.uid, "why": str(error)})

    async def _release_bound(self, pod: Pod) -> None:
        """Claims that another program bound while they were held still have their hold, also one
        of an earlier attempt that the record does not name any more. Raises KubeError."""
        for key in pod.claims:
            seen = self._state.stores.claim(key)
            if seen is not None and groups.release_bound(pod.uid, seen) is not None:
                held = GroupedClaim(seen.name, seen.uid)
                await self._rewrite(key, held, lambda claim: groups.release_bound(pod.uid, claim))

    # What no binding works on

    def observe_pod(self, uid: str) -> None:
        """The pod came, went, or got its node; or a binding has worked on its group."""
        if self.book.find(uid) is not None:
            self._changed.add(uid)
            self._due.set()

    async def settle(self) -> None:
        """Never returns; cancel it. Groups of pods that change are looked at then, and all of them
        from time to time."""
        clock = self._client.clock
        all_at, is_time = clock.monotonic(), True
        while True:
            self._due.clear()
            changed, self._changed = self._changed, set()
            uids = (group.pod_uid for group in self.book.all()) if is_time else sorted(changed)
            is_left = await self._settle_those(uids)
            # A pod whose node will not have it any more has no binding that looks at the time.
            pause = SETTLED_EVERY if is_left else DEADLINES_EVERY
            again_at = clock.monotonic() + pause.total_seconds()
            all_at = again_at if is_time else min(all_at, again_at)
            left = timedelta(seconds=max(all_at - clock.monotonic(), 0.0))
            try:
                async with clock.timeout(left if len(self.book) else None):
                    await self._due.wait()
                is_time = clock.monotonic() >= all_at
            except TimeoutError:
                # The clock may still be a fraction of a microsecond before that.
                is_time = True

    async def _settle_those(self, uids: Iterable[str]) -> bool:
        """Whether there was anything to settle."""
        groups = [group for uid in uids if (group := self.book.find(uid)) is not None]
        left = [group for group in groups if self._is_to_be_settled(group)]
        for group in left:
            await self._settle(group)
        return bool(left)

    async def look_for_strays(self) -> None:
        """Never returns; cancel it."""
        while True:
            await self._client.clock.sleep(STRAYS_EVERY)
            try:
                if await self.book.load_strays(self._is_left):
                    self._changed.update(group.pod_uid for group in self.book.all())
                    self._due.set()
                if self.book.is_allowed:
                    await self._release_forged()
            except KubeError as error:
                log.warning("stray groups not looked for", extra={"why": str(error)})

    async def _release_forged(self) -> None:
        """A tenant may hold back a volume for no pod. For ever it would be charged beside reports
        that count it in. One is released when it was seen twice, so that no group which was just
        stored is missed. Raises KubeError."""
        known = {group.hold_id for group in (*self.book.all(), *self.book.listed)}
        found: set[ForgedHold] = set()
        for claim in self._state.stores.claims.observed().objects.values():
            hold = hold_of(claim) if HOLD in claim.annotations else None
            if hold is not None and hold.id not in known and self._is_forged(claim, hold):
                found.add(ForgedHold(claim.key, claim.uid, hold.id))
        seen_before, self._forged = self._forged, frozenset(found)
        for key, uid, hold_id in sorted(found & seen_before):
            log.info("forged hold taken off", extra={"claim": str(key), "hold": hold_id})
            held = GroupedClaim(key.name, uid)
            await self._rewrite(key, held, partial(groups.release_forged, hold_id))

    def _is_forged(self, claim: PersistentVolumeClaim, hold: Hold) -> bool:
        """Other schedulers may keep their groups where this one does not look."""
        if groups.release_forged(hold.id, claim) is None or hold.pod_uid in self._working:
            return False
        users = self._state.stores.pods.snapshot().by(PODS_BY_CLAIM, str(claim.key)).values()
        waiting = [pod for pod in users if pod.uid == hold.pod_uid]
        return all(scheduler_of(pod) in self._context.timeouts for pod in waiting)

    def _is_left(self, group: Group) -> bool:
        """Whether no binding of any scheduler works on it. One that does gives it up in time."""
        is_late = self._client.clock.now() >= group.deadline
        is_working = group.pod_uid in self._working
        return not is_working and (is_late or not self._has_waiting_pod(group))

    def _has_waiting_pod(self, group: Group) -> bool:
        pod = self._state.stores.pod(group.pod_key)
        return is_pod_there(group, self._state.stores) and not (pod and pod.spec.node_name)

    def _is_to_be_settled(self, group: Group) -> bool:
        if group.pod_uid in self._working:
            return False
        is_waiting = self._has_waiting_pod(group)
        is_late = group.state is GroupState.PREPARING and self._is_given_up(group)
        is_stopped = group.state is GroupState.PUBLISHING and self._has_holds(group)
        return group.state is GroupState.UNDOING or is_late or is_stopped or not is_waiting

    def _is_given_up(self, group: Group) -> bool:
        """Whether no binding will go on with it."""
        pod = self._state.stores.pod(group.pod_key)
        is_late = self._client.clock.now() >= group.deadline
        return is_late or (pod is not None and self._does_without(pod))

    def _has_holds(self, group: Group) -> bool:
        """The pod may not be schedulable any more: no binding would take the holds off."""
        claims = (self._state.stores.claim(group.key_of(held)) for held in group.claims)
        return any(claim is not None and group.has_hold_on(claim) for claim in claims)

    async def _settle(self, group: Group) -> None:
        with self._work_on(group.pod_uid):
            try:
                await self._settled(group)
            except KubeError as error:
                facts = {"pod": str(group.pod_key), "why": str(error)}
                log.warning("group not settled yet", extra=facts)

    async def _settled(self, group: Group) -> None:
        pod = self._state.stores.pod(group.pod_key)
        is_there = pod is not None and pod.uid == group.pod_uid
        match group.state:
            case GroupState.PREPARING if is_there and pod and pod.spec.node_name == group.node:
                # Another scheduler has put it there: it needs what was made for it.
                await self.book.write(msgspec.structs.replace(group, state=GroupState.PUBLISHING))
            case GroupState.PUBLISHING:
                claims = await self._release(group)
                is_over = not is_there or bool(pod and pod.spec.node_name)
                if is_over and not any(groups.awaits_volume(group, claim) for claim in claims):
                    await self.book.delete(group.pod_uid)
            case GroupState.PREPARING:
                gone = Finding(reason=Reason.POD_NOT_FOUND, sentence="the pod is gone")
                is_waiting = is_pod_there(group, self._state.stores)
                await self._undo(group, TIMED_OUT.finding if is_waiting else gone)
            case GroupState.UNDOING:
                await self._finish_undo(group)
            case GroupState.UNDONE:
                await self.book.delete(group.pod_uid)
