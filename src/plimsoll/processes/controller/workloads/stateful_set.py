"""The control loop of StatefulSets; its decisions are in `decide/workloads/stateful_set/`."""

from collections.abc import Iterable
from datetime import timedelta
from typing import TypeVar

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.api.workloads import ControllerRevision, StatefulSet
from plimsoll.cache.store import StoreChange
from plimsoll.decide.plan import Create, Delete, Emit, Write
from plimsoll.decide.resources import CLAIMS
from plimsoll.decide.workloads.owned import STATEFUL_SET, warned
from plimsoll.decide.workloads.stateful_set.pods import is_member, parent_and_ordinal, template_name
from plimsoll.decide.workloads.stateful_set.stateful_set import (
    StatefulSetView,
    decide_stateful_set,
)
from plimsoll.processes.controller.workloads.owners import OwnerLoop, readable_selector
from plimsoll.processes.controller.workloads.revision_owners import revisions_of, watch_revisions
from plimsoll.reconcile.loop import Tools

T = TypeVar("T", bound=ApiObject)

BY_CLAIM = "claims"
OWNED_CLAIMS = "owned, by name without number"


def claim_names(set_: StatefulSet) -> Iterable[str]:
    """What its claims are called, without their numbers."""
    for template in set_.spec.volume_claim_templates:
        yield f"{set_.namespace}/{template_name(template)}-{set_.name}"


def _name_if_owned(claim: PersistentVolumeClaim) -> Iterable[str]:
    return (_unnumbered(claim.key),) if claim.metadata.owner_references else ()


def _unnumbered(claim: ObjectKey) -> str:
    return f"{claim.namespace}/{parent_and_ordinal(claim.name)[0]}"


def _ownership(object_: ApiObject) -> tuple[object, ...]:
    """What says which object this is, who owns it, and whether it is about to go."""
    metadata = object_.metadata
    return metadata.uid, metadata.owner_references, metadata.deletion_timestamp


def _is_report(before: object, after: object) -> bool:
    """Whether only numbers in the status have changed, which tell of pods that were seen."""
    if not isinstance(before, StatefulSet) or not isinstance(after, StatefulSet):
        return False
    return _decided_by(before) == _decided_by(after)


def _decided_by(set_: StatefulSet) -> tuple[object, ...]:
    metadata, status = set_.metadata, set_.status
    revisions = status.current_revision, status.update_revision, status.collision_count
    return (_ownership(set_), metadata.generation, metadata.labels, set_.spec, revisions)


class StatefulSets(OwnerLoop[StatefulSet, Pod]):
    name = "statefulset"
    workload = STATEFUL_SET

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools, StatefulSet, Pod)
        self._owners.index(BY_CLAIM, claim_names)
        self._revisions = tools.observed.of(ControllerRevision)
        watch_revisions(self, self._revisions)
        self._claims = tools.observed.of(PersistentVolumeClaim)
        self._claims.index(OWNED_CLAIMS, _name_if_owned)
        self._claims.on_change(self._claim_changed)

    def add_changed(self, change: StoreChange[T]) -> None:
        """What we have just reported ourselves is no reason to look again."""
        if not (change.is_own and _is_report(change.before, change.after)):
            super().add_changed(change)

    def essence(self, object_: Pod) -> object:
        """A large set has many pods, and each of them changes often on its way to a node."""
        metadata, status = object_.metadata, object_.status
        is_ready, since = object_.is_ready, object_.ready_since
        return (_ownership(object_), metadata.labels, status.phase, is_ready, since)

    def _claim_changed(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        before, after = change.before, change.after
        if before is not None and after is not None and _ownership(before) == _ownership(after):
            return
        for key in self._owners.view().by(BY_CLAIM, _unnumbered(change.key)):
            self.queue.add(key)

    def selector(self, owner: StatefulSet) -> LabelSelector:
        return readable_selector(owner.spec.selector)

    def is_eligible(self, owner: StatefulSet, object_: Pod) -> bool:
        return is_member(owner, object_)

    async def tend(self, owner: StatefulSet) -> timedelta | None:
        revisions, pods = revisions_of(self, owner, self._revisions), self.members_of(owner)
        if not await self.settle_ownership(owner, revisions):
            return None
        if not await self.settle_ownership(owner, pods):
            return None
        claims = self._claims.view()
        seen = StatefulSetView(
            pods=pods.members,
            claims=claims.objects,
            has_owned_claims=any(claims.by(OWNED_CLAIMS, name) for name in claim_names(owner)),
            revisions=revisions.members,
            named=self._revisions.view().objects,
            now=self.tools.clock.now(),
        )
        steps = decide_stateful_set(owner, seen)
        failure = await self.carry_out(owner, steps.history)
        if failure is None:
            failure = await self.carry_out(owner, steps.act)
            failure = await self.carry_out(owner, steps.report) or failure
        self.finish(owner, failure)
        return steps.report.recheck_after

    def complaint(self, owner: StatefulSet, write: Write, problem: str) -> Emit | None:
        match write:
            case Create(resource=resource, key=ObjectKey(name=name)):
                verb, what = "Create", "Claim" if resource == CLAIMS else "Pod"
            case Delete(key=ObjectKey(name=name)):
                verb, what = "Delete", "Pod"
            case _:
                return None
        message = f"{verb} {what} {name} in StatefulSet {owner.name} failed error: {problem}"
        return warned(STATEFUL_SET, owner, f"Failed{verb}", message)
