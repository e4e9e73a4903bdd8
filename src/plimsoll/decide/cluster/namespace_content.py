"""When a namespace that is being deleted is empty, and what to tell about it until then.

Everything in it is deleted, again and again, until nothing is left; only then may the namespace
itself go. What keeps objects back is told in the conditions of the namespace: pods that are given
time to end, finalizers of others, failures.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from plimsoll.api.meta import ObjectKey, ObjectMeta, wire_time
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.decide.plan import Patch, Plan, ResourceName

NAMESPACES = ResourceName("", "v1", "namespaces")
FINALIZER = "kubernetes"
"""Ours, in the namespace's own list of finalizers."""
FINALIZERS_TAKE = timedelta(seconds=15)
"""A guess: how long others take to remove theirs."""
NO_WAIT = timedelta()


class NamespaceReason(StrEnum):
    GONE = "NamespaceContentGone"
    REMAINS = "NamespaceContentRemains"
    FAILED = "NamespaceContentDeletionFailed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """Objects of one resource that are still there after their deletion was asked for."""

    resource: ResourceName
    objects: int
    finalizers: Mapping[str, int] = field(default_factory=dict)
    """How many objects each finalizer holds."""
    grace: timedelta = NO_WAIT
    """Time that they were promised to end in."""

    @classmethod
    def of(
        cls, resource: ResourceName, objects: Sequence[ObjectMeta], grace: timedelta = NO_WAIT
    ) -> "Leftover":
        held = Counter(name for metadata in objects for name in metadata.finalizers)
        return cls(resource=resource, objects=len(objects), finalizers=held, grace=grace)

    @property
    def wait(self) -> timedelta:
        """How long it may take them to go; no time at all means that they should be gone."""
        return self.grace or (FINALIZERS_TAKE if self.finalizers else NO_WAIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearing:
    """What one attempt to empty a namespace came to."""

    leftovers: tuple[Leftover, ...] = ()
    failures: tuple[str, ...] = ()
    """Kinds whose objects could not be deleted or counted, and why."""
    undiscovered: tuple[str, ...] = ()
    """Groups of kinds that are unknown at the moment: they may have objects here."""


def pods_grace(pods: Iterable[Pod], *, deleted_at: datetime, now: datetime) -> timedelta:
    """The longest time that one of the pods was promised; none once that time is over."""
    seconds = [p.spec.termination_grace_period_seconds or 0 for p in pods if not p.is_finished]
    longest = timedelta(seconds=max(seconds, default=0))
    return longest if now - deleted_at < longest else NO_WAIT


def decide_namespace(namespace: Document, clearing: Clearing, now: datetime) -> Plan:
    """`GONE` means that our finalizer may go; the writes tell about the rest."""
    failures = (*clearing.failures, *_unexpected(namespace, clearing))
    writes = _status_patch(namespace, _wanted(clearing, failures, now))
    if failures or clearing.undiscovered:
        return Plan(reason=NamespaceReason.FAILED, writes=writes)
    if clearing.leftovers:
        wait = max(leftover.wait for leftover in clearing.leftovers)
        recheck = wait / 2 + timedelta(seconds=1)
        return Plan(reason=NamespaceReason.REMAINS, writes=writes, recheck_after=recheck)
    return Plan(reason=NamespaceReason.GONE, writes=writes)


def _unexpected(namespace: Document, clearing: Clearing) -> list[str]:
    name = namespace["metadata"]["name"]
    return [
        f"unexpected items still remain in namespace: {name} for gvr: "
        f"{left.resource.group}/{left.resource.version}, Resource={left.resource.plural}"
        for left in clearing.leftovers
        if not left.wait
    ]


@dataclass(frozen=True, slots=True)
class _Condition:
    type: str
    reason: str
    message: str
    holds: bool = False


FINE = (
    _Condition(
        "NamespaceDeletionDiscoveryFailure",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    _Condition(
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    _Condition(
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    _Condition("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    _Condition(
        "NamespaceFinalizersRemaining",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
)


def _wanted(clearing: Clearing, failures: Sequence[str], now: datetime) -> list[Document]:
    wrong = {condition.type: condition for condition in _complaints(clearing, failures)}
    return [
        {
            "type": condition.type,
            "status": "True" if condition.holds else "False",
            "lastTransitionTime": wire_time(now),
            "reason": condition.reason,
            "message": condition.message,
        }
        for condition in (wrong.get(fine.type, fine) for fine in FINE)
    ]


def _complaints(clearing: Clearing, failures: Sequence[str]) -> Iterable[_Condition]:
    if clearing.undiscovered:
        yield _Condition(
            "NamespaceDeletionDiscoveryFailure",
            "DiscoveryFailed",
            f"Discovery failed for some groups, {len(clearing.undiscovered)} failing: "
            + ", ".join(sorted(clearing.undiscovered)),
            holds=True,
        )
    if failures:
        yield _Condition(
            "NamespaceDeletionContentFailure",
            "ContentDeletionFailed",
            f"Failed to delete all resource types, {len(failures)} remaining: "
            + ", ".join(sorted(failures)),
            holds=True,
        )
    if clearing.leftovers:
        counted = sorted(
            f"{left.resource.plural}.{left.resource.group} has {left.objects} resource instances"
            for left in clearing.leftovers
        )
        yield _Condition(
            "NamespaceContentRemaining",
            "SomeResourcesRemain",
            f"Some resources are remaining: {', '.join(counted)}",
            holds=True,
        )
    held: Counter[str] = Counter()
    for left in clearing.leftovers:
        held.update(left.finalizers)
    if held:
        counted = sorted(f"{name} in {count} resource instances" for name, count in held.items())
        yield _Condition(
            "NamespaceFinalizersRemaining",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: " + ", ".join(counted),
            holds=True,
        )


def _status_patch(namespace: Document, wanted: list[Document]) -> tuple[Patch, ...]:
    """Conditions of others stay; a time changes only with the status that it is about."""
    before: list[Document] = namespace.get("status", {}).get("conditions") or []
    known = {condition["type"]: condition for condition in before}
    after = [_merged(known.pop(c["type"], None), c) for c in wanted]
    merged = [c for c in before if c["type"] in known] + after
    if merged == before:
        return ()
    metadata = namespace["metadata"]
    patch = Patch(
        resource=NAMESPACES,
        key=ObjectKey("", metadata["name"]),
        patch={"status": {"conditions": merged}},
        version=metadata["resourceVersion"],
        uid=metadata["uid"],
        subresource="status",
    )
    return (patch,)


def _merged(old: Document | None, new: Document) -> Document:
    if old is not None and old["status"] == new["status"]:
        return new | {"lastTransitionTime": old.get("lastTransitionTime")}
    return new


def is_ours_to_clear(namespace: Document) -> bool:
    """It is being deleted, and waits for us."""
    finalizers = namespace.get("spec", {}).get("finalizers") or ()
    return "deletionTimestamp" in namespace["metadata"] and FINALIZER in finalizers


def finalized(namespace: Document) -> Document:
    """The namespace without our finalizer."""
    others = [name for name in namespace["spec"]["finalizers"] if name != FINALIZER]
    return namespace | {"spec": namespace["spec"] | {"finalizers": others}}
