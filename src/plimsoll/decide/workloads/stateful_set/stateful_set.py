"""StatefulSet: which pod to make, repair, update or delete next, and what to say about all of them.

Ordered sets do one thing at a time: the pod of the lowest number that is missing or not available
is looked after, and nothing else happens until it is. Parallel sets do not wait. In both, pods
come from the lowest number up and go from the highest down, no pod is made before its claims, and
scaling comes before updating.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum, auto

from plimsoll.api.meta import ObjectKey, ObjectMeta
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.api.workloads import ControllerRevision, RollingUpdate, StatefulSet
from plimsoll.decide.plan import NOTHING, Plan, Write
from plimsoll.decide.resources import CLAIMS, PODS
from plimsoll.decide.statuses import status_patch
from plimsoll.decide.workloads.availability import is_available, next_availability, share_of
from plimsoll.decide.workloads.owned import (
    STATEFUL_SET,
    creation,
    deletion,
    reference_document,
    told,
    warned,
)
from plimsoll.decide.workloads.revisions import (
    REVISION_LABEL,
    Described,
    Revision,
    RevisionHistory,
    decide_history,
)
from plimsoll.decide.workloads.stateful_set.claim_retention import (
    ClaimOwner,
    Holder,
    claim_owner,
    conflict_warnings,
    decide_claim_owner,
    is_stale,
    owners_of_new_claim,
    policy_of,
)
from plimsoll.decide.workloads.stateful_set.pods import (
    claim_document,
    claim_key,
    has_its_storage,
    identity_patch,
    ordinal_of,
    ordinals_of,
    pod_document,
    pod_name,
)
from plimsoll.decide.workloads.stateful_set.status import (
    ROLLING_UPDATE,
    ReportedRevisions,
    known_status,
    status_document,
)

ON_DELETE = "OnDelete"


class StatefulSetReason(StrEnum):
    TENDED = "PodsTended"
    """Pods or claims of the set are made, changed or deleted."""
    REPORTED = "StatusReported"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatefulSetView:
    """What there is of a set at one moment."""

    pods: tuple[Pod, ...]
    """Those that belong to it."""
    claims: Mapping[ObjectKey, PersistentVolumeClaim]
    revisions: tuple[ControllerRevision, ...]
    """Those that belong to it."""
    named: Mapping[ObjectKey, ControllerRevision]
    now: datetime
    has_owned_claims: bool = True
    """False: none of the set's claims has an owner, so that none has to lose one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatefulSetSteps:
    """Without the history nothing is done; the report is made whatever came of what was done."""

    history: Plan = NOTHING
    act: Plan = NOTHING
    report: Plan = NOTHING


def decide_stateful_set(set_: StatefulSet, seen: StatefulSetView) -> StatefulSetSteps:
    described = Described(
        workload=STATEFUL_SET,
        owner=set_,
        template=set_.spec.template,
        collisions=set_.status.collision_count,
    )
    history = decide_history(described, seen.revisions, seen.named)
    round_ = _Round(set_, seen, history)
    if not set_.is_being_deleted:
        round_.tend()
    return StatefulSetSteps(
        history=Plan(reason=StatefulSetReason.TENDED, writes=history.writes),
        act=Plan(reason=StatefulSetReason.TENDED, writes=tuple(round_.writes)),
        report=_report(set_, seen, round_),
    )


class _Progress(Enum):
    GO_ON = auto()
    WAIT = auto()
    FAILED = auto()


class _Round:
    """One look at all pods of a set; collects what is to be written."""

    def __init__(self, set_: StatefulSet, seen: StatefulSetView, history: RevisionHistory) -> None:
        self.set = set_
        self.seen = seen
        self.history = history
        self.current = history.find(set_.status.current_revision) or history.update
        self.writes: list[Write] = []
        self.updating = 0
        """Pods that are deleted to be made anew from the newest revision."""
        self._leaves_claims = (
            not seen.has_owned_claims
            and claim_owner(policy_of(set_), is_condemned=False) is ClaimOwner.NONE
        )
        self._is_ordered = set_.spec.pod_management_policy != "Parallel"
        by_ordinal = {ordinal_of(pod): pod for pod in seen.pods}
        self.replicas: dict[int, Pod | None] = {n: by_ordinal.get(n) for n in ordinals_of(set_)}
        surplus = [n for n in by_ordinal if n >= 0 and n not in self.replicas]
        self.condemned = [by_ordinal[n] for n in sorted(surplus, reverse=True)]

    @property
    def revisions(self) -> ReportedRevisions:
        return ReportedRevisions(
            current=self.current.name,
            update=self.history.update.name,
            collisions=self.history.collisions,
            updating=self.updating,
        )

    def tend(self) -> None:
        if not self._for_all(self.replicas, self._tend_replica):
            return
        for pod in self.condemned:
            self._fix_claims(ordinal_of(pod), Holder(pod=pod, is_condemned=True))
        if not self._for_all([ordinal_of(pod) for pod in self.condemned], self._condemn):
            return
        if self.set.spec.update_strategy.type != ON_DELETE:
            self._update()

    def _for_all(self, ordinals: Iterable[int], step: Callable[[int], _Progress]) -> bool:
        """Whether the next stage may begin."""
        for ordinal in ordinals:
            progress = step(ordinal)
            if progress is _Progress.FAILED:
                return False
            if progress is _Progress.WAIT and self._is_ordered:
                return False
        return True

    # Pods that should be there

    def _tend_replica(self, ordinal: int) -> _Progress:
        pod = self.replicas[ordinal]
        if pod is None:
            return self._make(ordinal)
        if pod.is_finished:
            # Whatever its exit code says: a pod of a set is meant to run. The next one is made
            # when this one is gone.
            if not pod.is_being_deleted:
                self._delete(pod)
            return _Progress.WAIT
        holder = Holder(pod=pod, is_condemned=False)
        if pod.status.phase == "Pending":
            if not self._make_claims(ordinal):
                return _Progress.FAILED
            self._fix_claims(ordinal, holder)
        if self._is_ordered and not self._serves(pod):
            return _Progress.WAIT
        return self._repair(pod, holder)

    def _serves(self, pod: Pod) -> bool:
        return (
            not pod.is_being_deleted
            and pod.status.phase == "Running"
            and is_available(pod, self.set.spec.min_ready_seconds, self.seen.now)
        )

    def _make(self, ordinal: int) -> _Progress:
        name = pod_name(self.set, ordinal)
        unborn = Pod(metadata=ObjectMeta(namespace=self.set.namespace, name=name))
        if any(is_stale(self.set, claim, unborn) for claim in self._claims(ordinal)):
            return _Progress.WAIT
        if not self._make_claims(ordinal):
            return _Progress.FAILED
        holder = Holder(pod=unborn, is_condemned=False)
        self.writes += conflict_warnings(self.set, self._claims(ordinal), holder)
        self._fix_claims(ordinal, holder)
        self.writes.append(creation(PODS, pod_document(self.set, self._revision(ordinal), ordinal)))
        self._tell("SuccessfulCreate", f"Create Pod {name} in StatefulSet {self.set.name} ")
        return _Progress.WAIT

    def _revision(self, ordinal: int) -> Revision:
        """Below the partition pods are made as they were."""
        index = ordinal - min(self.replicas)
        strategy = self.set.spec.update_strategy
        if strategy.rolling_update is None:
            is_old = strategy.type == ROLLING_UPDATE and index < self.set.status.current_replicas
        else:
            is_old = index < (strategy.rolling_update.partition or 0)
        return self.current if is_old else self.history.update

    def _claims(self, ordinal: int) -> list[PersistentVolumeClaim]:
        templates, find = self.set.spec.volume_claim_templates, self.seen.claims.get
        found = [find(claim_key(self.set, template, ordinal)) for template in templates]
        return [claim for claim in found if claim is not None]

    def _make_claims(self, ordinal: int) -> bool:
        """False when one of them is on its way out: it must be gone before there can be another."""
        name = pod_name(self.set, ordinal)
        leaving = [claim.name for claim in self._claims(ordinal) if claim.is_being_deleted]
        if leaving:
            message = (
                f"Create Pod {name} in StatefulSet {self.set.name} failed error: "
                f"pvc {', '.join(leaving)} is being deleted"
            )
            self.writes.append(warned(STATEFUL_SET, self.set, "FailedCreate", message))
            return False
        for template in self.set.spec.volume_claim_templates:
            if claim_key(self.set, template, ordinal) not in self.seen.claims:
                claim = claim_document(self.set, template, ordinal)
                owners = [reference_document(o) for o in owners_of_new_claim(self.set)]
                if owners:
                    claim["metadata"]["ownerReferences"] = owners
                self.writes.append(creation(CLAIMS, claim))
                claim_name = claim["metadata"]["name"]
                message = f"Create Claim {claim_name} Pod {name} in StatefulSet {self.set.name} "
                self._tell("SuccessfulCreate", message, end="success")
        return True

    def _fix_claims(self, ordinal: int, holder: Holder) -> None:
        if self._leaves_claims and not holder.is_condemned:
            return
        for claim in self._claims(ordinal):
            self.writes += decide_claim_owner(self.set, claim, holder)

    def _repair(self, pod: Pod, holder: Holder) -> _Progress:
        if not has_its_storage(self.set, pod):
            message = (
                f"Update Pod {pod.name} in StatefulSet {self.set.name} failed error: its volumes "
                "are not those of the set's claims and cannot be changed; delete the pod"
            )
            self.writes.append(warned(STATEFUL_SET, self.set, "FailedUpdate", message))
            return _Progress.FAILED
        self._fix_claims(ordinal_of(pod), holder)
        patch = identity_patch(pod)
        if patch is not None:
            self.writes.append(patch)
            message = f"Update Pod {pod.name} in StatefulSet {self.set.name} "
            self._tell("SuccessfulUpdate", message)
        return _Progress.GO_ON

    # Pods that should not be there

    def _condemn(self, ordinal: int) -> _Progress:
        pod = next(pod for pod in self.condemned if ordinal_of(pod) == ordinal)
        if pod.is_being_deleted:
            return _Progress.WAIT
        if self._is_ordered and not self._serves(pod) and pod is not self._first_unavailable():
            return _Progress.WAIT
        self._delete(pod)
        return _Progress.WAIT

    def _first_unavailable(self) -> Pod | None:
        """Of the pods that should be there, then of the condemned, the lowest number."""
        pods = [*self.replicas.values(), *reversed(self.condemned)]
        return next((pod for pod in pods if pod is None or self._is_unavailable(pod)), None)

    def _is_unavailable(self, pod: Pod | None) -> bool:
        if pod is None or pod.is_being_deleted:
            return True
        return not is_available(pod, self.set.spec.min_ready_seconds, self.seen.now)

    # Pods that should be made anew

    def _update(self) -> None:
        rolling = self.set.spec.update_strategy.rolling_update or RollingUpdate()
        most = share_of(len(self.replicas), rolling.max_unavailable, round_up=False)
        above_partition = list(self.replicas.values())[rolling.partition or 0 :]
        if most > 1:
            self._update_several(above_partition[::-1], most)
        else:
            self._update_next(above_partition[::-1])

    def _update_next(self, highest_first: list[Pod | None]) -> None:
        """One at a time. A pod that does not serve is no obstacle for those above it: it may be
        the update that heals it."""
        for pod in highest_first:
            if pod is not None and self._is_outdated(pod):
                self._renew(pod)
                return
            if self._is_unavailable(pod):
                return

    def _update_several(self, highest_first: list[Pod | None], most: int) -> None:
        allowed = most - sum(map(self._is_unavailable, self.replicas.values()))
        outdated = [pod for pod in highest_first if pod is not None and self._is_outdated(pod)]
        for pod in outdated[: max(allowed, 0)]:
            self._renew(pod)

    def _is_outdated(self, pod: Pod) -> bool:
        return not pod.is_being_deleted and not self._is_updated(pod)

    def _renew(self, pod: Pod) -> None:
        self._delete(pod)
        self.updating += 1

    def _is_updated(self, pod: Pod) -> bool:
        return pod.labels.get(REVISION_LABEL) == self.history.update.name

    def _delete(self, pod: Pod) -> None:
        self.writes.append(deletion(PODS, pod))
        self._tell("SuccessfulDelete", f"Delete Pod {pod.name} in StatefulSet {self.set.name} ")

    def _tell(self, reason: str, message: str, end: str = "successful") -> None:
        self.writes.append(told(STATEFUL_SET, self.set, reason, message + end))


def _report(set_: StatefulSet, seen: StatefulSetView, round_: _Round) -> Plan:
    status = status_document(set_, seen.pods, round_.revisions, seen.now)
    writes: list[Write] = []
    if any(status[name] != value for name, value in known_status(set_).items()):
        writes.append(status_patch(STATEFUL_SET.resource, set_, status))
    live = {pod.labels.get(REVISION_LABEL, "") for pod in seen.pods} | {round_.current.name}
    writes += round_.history.surplus(live, set_.spec.revision_history_limit)
    recheck = None
    if status["readyReplicas"] != status["availableReplicas"]:
        recheck = next_availability(seen.pods, set_.spec.min_ready_seconds, seen.now)
    return Plan(reason=StatefulSetReason.REPORTED, writes=tuple(writes), recheck_after=recheck)
