"""What a driver's answer to GetCapacity changes: a new object, other numbers, an owner, or nothing.

The pools behind the numbers, where the driver lists them, are written with the numbers at once, so
that no reader sees the numbers of one moment beside the pools of another.

Objects get names from the server, as csi-provisioner's do. If one is created twice, because its
creation was not seen in time, the second is deleted as a duplicate.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

import msgspec

from plimsoll.api.meta import OwnerReference
from plimsoll.api.quantity import Format, Quantity, parse_quantity
from plimsoll.api.registry import Document
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.decide.capacity.names import CAPACITIES, DRIVER_NAME, GENERATED_NAME, MANAGED_BY
from plimsoll.decide.capacity.pools import POOLS, PublishedPool, pools_text
from plimsoll.decide.capacity.segments import Segment
from plimsoll.decide.capacity.tokens import CAPACITY_TOKEN, CapacityToken, find_token
from plimsoll.decide.plan import NOTHING, Create, Patch, Plan


class PublishingPolicy(StrEnum):
    COMPATIBLE = "compatible"
    """As csi-provisioner does it."""
    DEFAULT = "default"


class CapacityReason(StrEnum):
    """Why published capacity is written."""

    PUBLISHED = "CapacityPublished"
    """Nothing was published for this segment and class yet."""
    CHANGED = "CapacityChanged"
    """The driver gave other numbers than those that are published."""
    ADOPTED = "CapacityAdopted"
    """The numbers are right, but the object would go with an owner that is not ours."""
    REMOVED = "CapacityRemoved"
    """The object is about a class or segment that is gone, or says what another one says."""
    TEMPLATES_CHANGED = "TemplateCapacityChanged"
    """What is published for node types is not what the table of node types says."""
    LOOKED = "CapacityLooked"
    """The publisher has looked at everything, and says when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacitySettings:
    driver: str
    publisher: str
    """Its id, from `names.managed_by`."""
    namespace: str
    owner: OwnerReference | None = None
    """Objects go with it. None: they stay when the driver is uninstalled."""
    policy: PublishingPolicy = PublishingPolicy.DEFAULT
    for_immediate_binding: bool = False
    """Publish for classes that bind at once, too."""
    grace: timedelta = timedelta(minutes=10)
    """How long an object outlives its segment. A driver that restarts is missing from its nodes
    for a while; without its objects the scheduler would believe that no node has capacity."""

    @property
    def labels(self) -> dict[str, str]:
        return {DRIVER_NAME: self.driver, MANAGED_BY: self.publisher}


@dataclass(frozen=True, slots=True)
class CapacityAnswer:
    """What a driver says to GetCapacity."""

    available_bytes: int
    maximum_volume_bytes: int | None = None
    pools: tuple[PublishedPool, ...] = ()
    """That the class can draw on in the segment; none: the driver does not list pools."""
    token: CapacityToken | None = None
    """Read before the driver was asked; None: tokens are not written."""

    @property
    def pools_text(self) -> str | None:
        """None: there is nothing to tell, or too much."""
        return pools_text(self.pools) if self.pools else None


def as_quantity(number: int) -> str:
    return Quantity(number, format=Format.BINARY_SI).canonical


def decide_report(
    existing: CSIStorageCapacity | None,
    answer: CapacityAnswer,
    about: Document,
    settings: CapacitySettings,
    *,
    owed: CapacityToken | None = None,
) -> Plan:
    """`about` says what the numbers are for: see `about_segment`. `owed` is the token of a volume
    that readers must be able to see counted in."""
    if existing is None:
        return Plan(
            reason=CapacityReason.PUBLISHED,
            writes=(Create(resource=CAPACITIES, document=new_document(answer, about, settings)),),
        )
    owner = settings.owner
    is_owned = owner is None or is_owned_by(existing, owner, settings.policy)
    is_right = is_told(existing, answer, settings.policy) and not _is_owed(existing, answer, owed)
    if is_right and is_owned:
        return NOTHING
    change = numbers_of(answer)
    metadata: Document = {}
    if annotations := _annotations(answer, settings.policy):
        known = existing.annotations
        changed = {name: text for name, text in annotations.items() if known.get(name) != text}
        metadata |= {"annotations": changed} if changed else {}
    if owner is not None and not is_owned:
        metadata["ownerReferences"] = _owners(existing, owner, settings.policy)
    if metadata:
        change["metadata"] = metadata
    patch = Patch(
        resource=CAPACITIES,
        key=existing.key,
        patch=change,
        uid=existing.uid,
        # A list of owners is replaced as a whole: no other owner may get lost.
        version="" if is_owned else existing.metadata.resource_version,
    )
    return Plan(
        reason=CapacityReason.ADOPTED if is_right else CapacityReason.CHANGED,
        writes=(patch,),
    )


def about_segment(segment: Segment, storage_class: str) -> Document:
    labels = dict(segment)
    return {
        "storageClassName": storage_class,
        "nodeTopology": {"matchLabels": labels} if labels else {},
    }


def has_numbers(capacity: CSIStorageCapacity, answer: CapacityAnswer) -> bool:
    """Compared as numbers: 1Gi is 1024Mi."""
    return (
        _value(capacity.capacity) == answer.available_bytes
        and _value(capacity.maximum_volume_size) == answer.maximum_volume_bytes
    )


def is_told(capacity: CSIStorageCapacity, answer: CapacityAnswer, policy: PublishingPolicy) -> bool:
    """Whether the object says what the driver said, numbers and pools."""
    if not has_numbers(capacity, answer):
        return False
    return not _tells_pools(policy) or capacity.annotations.get(POOLS) == answer.pools_text


def _is_owed(
    capacity: CSIStorageCapacity, answer: CapacityAnswer, owed: CapacityToken | None
) -> bool:
    """Whether the token must be written, be the numbers the same."""
    if answer.token is None:
        return False
    told = find_token(capacity.annotations)
    # A larger one is not of this publisher's line of leaders: it would hide volumes.
    return told is None or told > answer.token or (owed is not None and told < owed)


def _annotations(answer: CapacityAnswer, policy: PublishingPolicy) -> dict[str, str | None]:
    if not _tells_pools(policy):
        return {}
    token = {} if answer.token is None else {CAPACITY_TOKEN: str(answer.token)}
    return {POOLS: answer.pools_text} | token


def _tells_pools(policy: PublishingPolicy) -> bool:
    return policy is not PublishingPolicy.COMPATIBLE


def _value(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_quantity(text).value
    except ValueError:
        return None


def is_owned_by(
    capacity: CSIStorageCapacity, owner: OwnerReference, policy: PublishingPolicy
) -> bool:
    owners = capacity.metadata.owner_references
    if policy is PublishingPolicy.COMPATIBLE:
        return any(each.controller and each.uid == owner.uid for each in owners)
    return any(each.uid == owner.uid for each in owners)


def believed(answer: CapacityAnswer, policy: PublishingPolicy) -> CapacityAnswer:
    """Schedulers go by the largest volume where there is one: it cannot be larger than the whole
    capacity, even if a driver says so."""
    if policy is PublishingPolicy.COMPATIBLE or answer.maximum_volume_bytes is None:
        return answer
    largest = min(answer.maximum_volume_bytes, answer.available_bytes)
    return replace(answer, maximum_volume_bytes=largest)


def new_document(answer: CapacityAnswer, about: Document, settings: CapacitySettings) -> Document:
    metadata: Document = {
        "generateName": GENERATED_NAME,
        "namespace": settings.namespace,
        "labels": settings.labels,
    }
    told = {k: v for k, v in _annotations(answer, settings.policy).items() if v is not None}
    if told:
        metadata["annotations"] = told
    if settings.owner is not None:
        metadata["ownerReferences"] = [_as_document(settings.owner)]
    numbers = {name: text for name, text in numbers_of(answer).items() if text is not None}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": metadata,
        **about,
        **numbers,
    }


def numbers_of(answer: CapacityAnswer) -> Document:
    largest = answer.maximum_volume_bytes
    return {
        "capacity": as_quantity(answer.available_bytes),
        "maximumVolumeSize": None if largest is None else as_quantity(largest),
    }


def _owners(
    capacity: CSIStorageCapacity, owner: OwnerReference, policy: PublishingPolicy
) -> list[Mapping[str, object]]:
    """All that it has, and ours.

    A server accepts one controller only. Where there is one already, ours is a plain owner: that
    keeps the object as long, and the numbers can be written.
    """
    if policy is not PublishingPolicy.COMPATIBLE and capacity.metadata.controller is not None:
        owner = msgspec.structs.replace(owner, controller=None)
    return [_as_document(each) for each in (*capacity.metadata.owner_references, owner)]


def _as_document(owner: OwnerReference) -> Document:
    found: Document = msgspec.to_builtins(owner)
    return found
