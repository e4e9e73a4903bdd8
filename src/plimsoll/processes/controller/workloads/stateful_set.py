"""The control loop of StatefulSets; its decisions are in `decide/workloads/stateful_set/`."""

from collections.abc import Iterable
from datetime import timedelta

from plimsoll.api.meta import ObjectKey
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

BY_CLAIM = "claims"


def claim_names(set_: StatefulSet) -> Iterable[str]:
    """What its claims are called, without their numbers."""
    for template in set_.spec.volume_claim_templates:
        yield f"{set_.namespace}/{template_name(template)}-{set_.name}"


class StatefulSets(OwnerLoop[StatefulSet, Pod]):
    name = "statefulset"
    workload = STATEFUL_SET

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools, StatefulSet, Pod)
        self._owners.index(BY_CLAIM, claim_names)
        self._revisions = tools.observed.of(ControllerRevision)
        watch_revisions(self, self._revisions)
        self._claims = tools.observed.of(PersistentVolumeClaim)
        self._claims.on_change(self._claim_changed)

    def _claim_changed(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        name = f"{change.key.namespace}/{parent_and_ordinal(change.key.name)[0]}"
        for key in self._owners.view().by(BY_CLAIM, name):
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
        seen = StatefulSetView(
            pods=pods.members,
            claims=self._claims.view().objects,
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
