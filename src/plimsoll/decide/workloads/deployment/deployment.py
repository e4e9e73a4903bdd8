"""Deployment: one ReplicaSet for each template it ever had, and how the newest takes over.

A template that returns finds its old ReplicaSet again: that is how a rollback works. Every look
makes one step; the change that it causes leads to the next look.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from msgspec import structs

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.typed import from_document
from plimsoll.api.workloads import Deployment, ReplicaSet, ReplicaStatus
from plimsoll.decide.plan import NOTHING, Patch, Plan, Write
from plimsoll.decide.statuses import status_patch
from plimsoll.decide.workloads.deployment.new_replica_set import (
    is_same_template,
    revision_of,
    set_annotations,
    set_document,
)
from plimsoll.decide.workloads.deployment.rollout import (
    DESIRED_REPLICAS,
    MAX_INT32,
    MAX_REPLICAS,
    REVISION,
    Sizes,
    active,
    age_key,
    fenceposts_of,
    find_count,
    grown_size,
    proportional_sizes,
    shrunk_sizes,
    size_of,
)
from plimsoll.decide.workloads.deployment.status import (
    PAUSED,
    PROGRESSING,
    RESUMED,
    TIMED_OUT,
    Sets,
    condition,
    find_progress,
    has_deadline,
    is_complete,
    status_document,
    status_of,
    time_to_deadline,
    with_condition,
    with_progress,
)
from plimsoll.decide.workloads.owned import (
    DEPLOYMENT,
    REPLICA_SETS,
    creation,
    deletion,
    told,
    warned,
)
from plimsoll.decide.workloads.pod_template import template_hash

NAME_LIMIT = 253
SET_FAILED = "ReplicaSetCreateError"


class DeploymentReason(StrEnum):
    ADVANCED = "RolloutAdvanced"
    """A ReplicaSet is made, scaled, marked or cleared away."""
    REPORTED = "StatusReported"
    UNSELECTIVE = "SelectingAll"
    """The selector is empty: nothing is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentView:
    sets: tuple[ReplicaSet, ...]
    """Those that belong to the Deployment."""
    named: Mapping[ObjectKey, ReplicaSet]
    """All that a new one could collide with."""
    pods: Mapping[str, tuple[Pod, ...]]
    """By the uid of the set that they belong to."""
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentSteps:
    """The report tells of what was done: it is made only if all of that went through."""

    act: Plan = NOTHING
    report: Plan = NOTHING


def decide_deployment(deployment: Deployment, seen: DeploymentView) -> DeploymentSteps:
    if LabelSelector.of(deployment.spec.selector).is_empty:
        return _refused(deployment)
    look = _Look(deployment, seen)
    if deployment.is_being_deleted:
        return look.steps(is_rollout=False)
    look.note_pause()
    if look.mark_new_set():
        return look.steps(is_rollout=False)
    look.note_revision()
    if deployment.spec.paused or look.is_scaled:
        look.scale()
        if deployment.spec.paused:
            look.clear_away()
        return look.steps(is_rollout=False)
    if deployment.spec.strategy.type == "Recreate":
        look.recreate()
    else:
        look.roll()
    return look.steps(is_rollout=True)


def decide_failed_set(deployment: Deployment, name: str, problem: str, now: datetime) -> Plan:
    """The new ReplicaSet could not be made."""
    message = f'Failed to create new replica set "{name}": {problem}'
    writes: list[Write] = [warned(DEPLOYMENT, deployment, SET_FAILED, message)]
    if has_deadline(deployment):
        failure = condition(PROGRESSING, "False", SET_FAILED, message, at=now)
        conditions = with_condition(deployment.status.conditions, failure)
        if conditions != deployment.status.conditions:
            status = structs.replace(deployment.status, conditions=conditions)
            writes.append(status_patch(DEPLOYMENT.resource, deployment, status_document(status)))
    return Plan(reason=DeploymentReason.REPORTED, writes=tuple(writes))


def _refused(deployment: Deployment) -> DeploymentSteps:
    message = "This deployment is selecting all pods. A non-empty selector is required."
    writes: list[Write] = [warned(DEPLOYMENT, deployment, DeploymentReason.UNSELECTIVE, message)]
    generation = deployment.metadata.generation
    if deployment.status.observed_generation < generation:
        writes.append(
            status_patch(DEPLOYMENT.resource, deployment, {"observedGeneration": generation})
        )
    return DeploymentSteps(report=Plan(reason=DeploymentReason.UNSELECTIVE, writes=tuple(writes)))


class _Look:
    """One look at a Deployment; collects what is to be written and said."""

    def __init__(self, deployment: Deployment, seen: DeploymentView) -> None:
        self.deployment = deployment
        self.seen = seen
        self.posts = fenceposts_of(deployment)
        by_age = sorted(seen.sets, key=age_key)
        template = deployment.spec.template
        new = next((s for s in by_age if is_same_template(s.spec.template, template)), None)
        self.sets = Sets(new=new, old=tuple(s for s in by_age if s is not new))
        self.conditions = deployment.status.conditions
        self.revision = deployment.annotations.get(REVISION, "")
        self.collisions = deployment.status.collision_count
        self.writes: list[Write] = []

    @property
    def _next_revision(self) -> int:
        return max(map(revision_of, self.sets.old), default=0) + 1

    # What is noted on the way

    def note_pause(self) -> None:
        """The time of a pause does not count against the deadline."""
        known = find_progress(self.conditions)
        if not has_deadline(self.deployment) or (known is not None and known.reason == TIMED_OUT):
            return
        was_paused = known is not None and known.reason == PAUSED
        if self.deployment.spec.paused and not was_paused:
            self._say("Unknown", PAUSED, "Deployment is paused")
        elif was_paused and not self.deployment.spec.paused:
            self._say("Unknown", RESUMED, "Deployment is resumed")

    def note_revision(self) -> None:
        if self.sets.new is None:
            return
        self.revision = self.sets.new.annotations.get(REVISION, self.revision)
        if has_deadline(self.deployment) and find_progress(self.conditions) is None:
            text = f'Found new replica set "{self.sets.new.name}"'
            self._say("True", "FoundNewReplicaSet", text)

    def _say(self, status: str, reason: str, message: str) -> None:
        said = condition(PROGRESSING, status, reason, message, at=self.seen.now)
        self.conditions = with_condition(self.conditions, said)

    @property
    def is_scaled(self) -> bool:
        """Whether the number of pods was changed since the sets were last scaled."""
        desired = (find_count(s.annotations, DESIRED_REPLICAS) for s in active(self.sets.all))
        return any(count is not None and count != self.posts.wanted for count in desired)

    # The new set

    def mark_new_set(self) -> bool:
        """Bring its annotations up to date; the rest waits until that is seen."""
        new = self.sets.new
        if new is None:
            return False
        wanted = set_annotations(self.deployment, new.annotations, self._next_revision)
        changed = {k: v for k, v in wanted.items() if new.annotations.get(k) != v}
        patch: Document = {"metadata": {"annotations": changed}} if changed else {}
        if new.spec.min_ready_seconds != self.deployment.spec.min_ready_seconds:
            patch["spec"] = {"minReadySeconds": self.deployment.spec.min_ready_seconds}
        if patch:
            self.writes.append(_patch(new, patch))
        return bool(patch)

    def _make_new_set(self) -> None:
        hash_ = template_hash(self.deployment.spec.template, self.collisions)
        name = f"{self.deployment.name[: NAME_LIMIT - len(hash_) - 1]}-{hash_}"
        if ObjectKey(self.deployment.namespace, name) in self.seen.named:
            # It has another owner, or is about to be collected: the next hash differs.
            self.collisions = (self.collisions or 0) + 1
            return
        annotations = set_annotations(self.deployment, {}, self._next_revision)
        annotations |= self._size_annotations()
        document = set_document(self.deployment, name, hash_, annotations)
        made = from_document(ReplicaSet, document)
        size = grown_size(self.posts, made, [*self.sets.old, made])
        document["spec"]["replicas"] = size
        self.sets = Sets(new=from_document(ReplicaSet, document), old=self.sets.old)
        self.revision = document["metadata"]["annotations"][REVISION]
        self.writes.append(creation(REPLICA_SETS, document))
        if size:
            self._tell_scaling(name, 0, size)
        if has_deadline(self.deployment):
            self._say("True", "NewReplicaSetCreated", f'Created new replica set "{name}"')

    # Sizes

    def scale(self) -> None:
        """The number of pods was changed, or the rollout is paused: nothing is replaced."""
        only = self._only_active_or_newest()
        if only is not None:
            self._resize(only, self.posts.wanted)
        elif self._is_saturated():
            for old in active(self.sets.old):
                self._resize(old, 0)
        elif self.deployment.spec.strategy.type != "Recreate":
            before, old_sets = self.deployment.status.replicas, list(self.sets.old)
            sizes = proportional_sizes(self.posts, self.sets.new, old_sets, before=before)
            self._resize_all(sizes, is_forced=True)

    def _only_active_or_newest(self) -> ReplicaSet | None:
        running = active(self.sets.all)
        if running:
            return running[0] if len(running) == 1 else None
        return self.sets.new or next(reversed(self.sets.old), None)

    def _is_saturated(self) -> bool:
        new = self.sets.new
        if new is None:
            return False
        desired = find_count(new.annotations, DESIRED_REPLICAS)
        return {size_of(new), desired, new.status.available_replicas} == {self.posts.wanted}

    def roll(self) -> None:
        if self.sets.new is None:
            self._make_new_set()
            return
        new = self.sets.new
        if size_of(new) > self.posts.wanted:
            self._resize(new, self.posts.wanted)
        elif size_of(new) < self.posts.wanted:
            self._resize(new, grown_size(self.posts, new, self.sets.all))
        if not self.writes:
            self._resize_all(shrunk_sizes(self.posts, new, active(self.sets.old)))
        if not self.writes and is_complete(self.deployment, self.deployment.status):
            self.clear_away()

    def recreate(self) -> None:
        """All old pods are gone before the first new one is made."""
        for old in active(self.sets.old):
            self._resize(old, 0)
        if self.writes or self._is_old_running():
            return
        if self.sets.new is None:
            self._make_new_set()
            return
        self._resize(self.sets.new, self.posts.wanted)
        if not self.writes and is_complete(self.deployment, self.deployment.status):
            self.clear_away()

    def _is_old_running(self) -> bool:
        if any(old.status.replicas for old in self.sets.old):
            return True
        new = self.sets.new.uid if self.sets.new is not None else ""
        others = (pods for uid, pods in self.seen.pods.items() if uid != new)
        return any(not pod.is_finished for pods in others for pod in pods)

    def _resize_all(self, sizes: Sizes, *, is_forced: bool = False) -> None:
        for set_ in self.sets.all:
            if set_.name in sizes:
                self._resize(set_, sizes[set_.name], is_forced=is_forced)

    def _resize(self, set_: ReplicaSet, size: int, *, is_forced: bool = False) -> None:
        """`is_forced` also when only what the set was scaled for is to be noted."""
        annotations = self._size_annotations()
        is_noted = annotations.items() <= set_.annotations.items()
        if size_of(set_) == size and (is_noted or not is_forced):
            return
        patch = {"spec": {"replicas": size}, "metadata": {"annotations": annotations}}
        self.writes.append(_patch(set_, patch))
        if size_of(set_) != size:
            self._tell_scaling(set_.name, size_of(set_), size)

    def _size_annotations(self) -> dict[str, str]:
        return {DESIRED_REPLICAS: str(self.posts.wanted), MAX_REPLICAS: str(self.posts.most)}

    def _tell_scaling(self, name: str, before: int, after: int) -> None:
        direction = "up" if before < after else "down"
        text = f"Scaled {direction} replica set {name} from {before} to {after}"
        self.writes.append(told(DEPLOYMENT, self.deployment, "ScalingReplicaSet", text))

    def clear_away(self) -> None:
        """Old sets beyond the limit, oldest revision first, but only those without pods."""
        limit = self.deployment.spec.revision_history_limit
        if limit in (None, MAX_INT32):
            return
        staying = [old for old in self.sets.old if not old.is_being_deleted]
        staying.sort(key=lambda old: (revision_of(old), age_key(old)))
        for old in staying[: max(len(staying) - limit, 0)]:
            is_settled = old.metadata.generation <= old.status.observed_generation
            if is_settled and not old.status.replicas and not size_of(old):
                self.writes.append(deletion(REPLICA_SETS, old))

    # What is said

    def steps(self, *, is_rollout: bool) -> DeploymentSteps:
        now = self.seen.now
        status = status_of(self.deployment, self.sets, self.conditions, now)
        status = structs.replace(status, collision_count=self.collisions)
        if is_rollout:
            status = with_progress(self.deployment, self.sets, status, now)
        return DeploymentSteps(
            act=Plan(reason=DeploymentReason.ADVANCED, writes=tuple(self.writes)),
            report=self._report(status),
        )

    def _report(self, status: ReplicaStatus) -> Plan:
        """The revision is told together with the status, for which annotations may change."""
        patch = status_patch(DEPLOYMENT.resource, self.deployment, status_document(status))
        is_new = status_document(self.deployment.status) != patch.patch["status"]
        writes: tuple[Write, ...] = (patch,) if is_new else ()
        if self.revision != self.deployment.annotations.get(REVISION, ""):
            metadata = {"annotations": {REVISION: self.revision}}
            writes = (replace(patch, patch=patch.patch | {"metadata": metadata}),)
        recheck = time_to_deadline(self.deployment, status, self.seen.now)
        return Plan(reason=DeploymentReason.REPORTED, writes=writes, recheck_after=recheck)


def _patch(set_: ReplicaSet, patch: Document) -> Patch:
    return Patch(
        resource=REPLICA_SETS,
        key=set_.key,
        patch=patch,
        version=set_.metadata.resource_version,
        uid=set_.uid,
    )
