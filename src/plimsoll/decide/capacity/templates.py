"""Capacity of nodes that do not exist yet, for the cluster autoscaler.

Before it adds a node, the autoscaler imagines one and lets the scheduler's rules judge it. Storage
that is published node by node has no number for an imagined node, so no node would ever be added.
The autoscaler labels such nodes `cluster-autoscaler.kubernetes.io/template-node: "true"`; for each
type of node in a table, and each class, one object is published that asks for this label and for
the labels of the type, with the capacity that a fresh node of the type has.

No real node carries the label, so schedulers never see these numbers. The objects carry an id of
their own in place of the publisher's: a publisher would delete them as being about no segment.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.decide.capacity.names import (
    CAPACITIES,
    DRIVER_NAME,
    GENERATED_NAME,
    MANAGED_BY,
    TEMPLATE_NODE,
    TEMPLATES,
)
from plimsoll.decide.capacity.published import Pair
from plimsoll.decide.capacity.reports import (
    CapacityAnswer,
    CapacityReason,
    CapacitySettings,
    about_segment,
    has_numbers,
    new_document,
    numbers_of,
)
from plimsoll.decide.capacity.segments import segment_of
from plimsoll.decide.plan import NOTHING, Create, Delete, Patch, Plan, Write


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeType:
    name: str
    labels: Mapping[str, str]
    """By which its nodes are told from others: a node group, an instance type."""
    capacity: Mapping[str, CapacityAnswer] = field(default_factory=dict)
    """By class, what a fresh node can hold."""


def is_template(capacity: CSIStorageCapacity) -> bool:
    topology = capacity.node_topology
    return topology is not None and TEMPLATE_NODE in topology.match_labels


def decide_templates(
    types: Iterable[NodeType],
    classes: Collection[str],
    existing: Iterable[CSIStorageCapacity],
    settings: CapacitySettings,
) -> Plan:
    """`classes` are those of the driver; for others nothing is published, whatever the table says.

    A type whose labels differ now gets another object: what an object is about cannot be changed.
    """
    there = {object_.key: object_ for object_ in existing if _is_ours(object_, settings)}
    wanted: dict[ObjectKey, tuple[Pair, CapacityAnswer]] = {}
    for type_ in types:
        segment = segment_of({**type_.labels, TEMPLATE_NODE: "true"})
        for name in type_.capacity.keys() & set(classes):
            pair = Pair(segment, name)
            wanted[_key(pair, settings)] = pair, type_.capacity[name]
    writes: list[Write] = []
    for key, (pair, answer) in sorted(wanted.items()):
        object_ = there.get(key)
        if object_ is None:
            document = _document(pair, answer, settings)
            writes.append(Create(resource=CAPACITIES, document=document))
        elif not has_numbers(object_, answer):
            change = numbers_of(answer)
            writes.append(Patch(resource=CAPACITIES, key=key, patch=change, uid=object_.uid))
    for key, object_ in sorted(there.items()):
        if key not in wanted and not object_.is_being_deleted:
            writes.append(Delete(resource=CAPACITIES, key=key, uid=object_.uid))
    return (
        Plan(reason=CapacityReason.TEMPLATES_CHANGED, writes=tuple(writes)) if writes else NOTHING
    )


def _is_ours(object_: CSIStorageCapacity, settings: CapacitySettings) -> bool:
    return (
        object_.namespace == settings.namespace
        and object_.labels.get(DRIVER_NAME) == settings.driver
        and object_.labels.get(MANAGED_BY) == TEMPLATES
    )


def _key(pair: Pair, settings: CapacitySettings) -> ObjectKey:
    """The same for the same type and class, so that nothing is ever published twice."""
    told = repr((settings.driver, pair.segment, pair.storage_class))
    digest = sha256(told.encode()).hexdigest()[:16]
    return ObjectKey(settings.namespace, f"{GENERATED_NAME}template-{digest}")


def _document(pair: Pair, answer: CapacityAnswer, settings: CapacitySettings) -> Document:
    document = new_document(answer, about_segment(*pair), settings)
    metadata = document["metadata"] | {
        "name": _key(pair, settings).name,
        "labels": settings.labels | {MANAGED_BY: TEMPLATES},
    }
    del metadata["generateName"]
    return document | {"metadata": metadata}
