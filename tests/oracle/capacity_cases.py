"""Asks `plimsoll.decide.capacity` what csi-provisioner publishes, deletes and leaves alone.

The case is played against a small API server: objects are stored, and every change is told to the
publisher, ours as well as those that the case makes in our name.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey, ObjectMeta, OwnerReference
from plimsoll.api.patch import merge_patch
from plimsoll.api.quantity import canonical_quantity
from plimsoll.api.registry import Document
from plimsoll.api.storage import CSINode, CSIStorageCapacity, StorageClass
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, VolumeNodeAffinity, VolumeSpec
from plimsoll.decide.capacity.names import DRIVER_NAME, MANAGED_BY, managed_by
from plimsoll.decide.capacity.publishing import CapacityQuestion, Publisher
from plimsoll.decide.capacity.reports import CapacityAnswer, CapacitySettings, PublishingPolicy
from plimsoll.decide.plan import Create, Delete, Patch, Plan
from tests.oracle.comparison import agrees

NOW = datetime(2024, 1, 1, tzinfo=UTC)
UNORDERED = ("getCapacityCalls", "created", "updated", "deleted", "objects")


def ep_managed_by(case: Document) -> Document:
    return {"managedByID": managed_by(case["nodeName"])}


def ep_capacity(case: Document) -> Document:
    played = Played(case)
    return {
        "initial": played.begin(case["initial"]),
        "steps": [played.step(step) for step in case["steps"]],
    }


def ep_capacity_agrees(expected: Document, actual: Document) -> bool:
    """The order of lists is free."""
    if "anyOf" in expected:
        return any(ep_capacity_agrees(choice, actual) for choice in expected["anyOf"])
    return agrees(_sorted(expected), _sorted(actual))


def _sorted(answer: Document) -> Document:
    return {
        "initial": _in_order(answer["initial"]),
        "steps": [_in_order(step) for step in answer["steps"]],
    }


def _in_order(step: Document) -> Document:
    texts = {name: [json.dumps(each, sort_keys=True) for each in step[name]] for name in UNORDERED}
    # The same question twice is no other set of questions.
    texts["getCapacityCalls"] = list(set(texts["getCapacityCalls"]))
    return step | {name: sorted(found) for name, found in texts.items()}


class Played:
    def __init__(self, case: Document) -> None:
        self._case = case
        owner = case["owner"]
        settings = CapacitySettings(
            driver=case["driverName"],
            publisher=case["managedByID"],
            namespace=case["namespace"],
            owner=None if owner is None else from_document(OwnerReference, owner),
            policy=PublishingPolicy.COMPATIBLE,
            for_immediate_binding=case["capacityForImmediateBinding"],
            grace=timedelta(0),
        )
        self._publisher = Publisher(settings, local_topology=_local_topology(case))
        self._driver: list[Document] = case["driver"]
        self._stored: dict[ObjectKey, Document] = {}
        self._numbers = count(1)
        self._generated: set[ObjectKey] = set()
        self._seen: Document = {}

    def begin(self, initial: Document) -> Document:
        self._seen = {name: [] for name in UNORDERED}
        self._upsert(initial)
        self._settle()
        return self._answer()

    def step(self, step: Document) -> Document:
        self._seen = {name: [] for name in UNORDERED}
        self._driver = step.get("setDriver") or self._driver
        self._upsert(step.get("upsert") or {})
        self._delete(step.get("delete") or {})
        self._publisher.catch_up(NOW)
        if step.get("poll"):
            self._publisher.poll(NOW)
        if "provisioned" in step:
            self._publisher.provisioned(_volume(step["provisioned"]))
        self._settle()
        return self._answer()

    def _upsert(self, objects: Document) -> None:
        for document in objects.get("nodes") or ():
            self._publisher.put_node(from_document(Node, document))
        for document in objects.get("csiNodes") or ():
            self._publisher.put_csi_node(from_document(CSINode, document))
        for document in objects.get("storageClasses") or ():
            self._publisher.put_class(from_document(StorageClass, document), NOW)
        self._publisher.catch_up(NOW)
        for document in objects.get("csiStorageCapacities") or ():
            self._store(document)

    def _delete(self, names: Mapping[str, Iterable[Any]]) -> None:
        for name in names.get("nodes") or ():
            self._publisher.remove_node(name)
        for name in names.get("csiNodes") or ():
            self._publisher.remove_csi_node(name)
        for name in names.get("storageClasses") or ():
            self._publisher.remove_class(name, NOW)
        for which in names.get("csiStorageCapacities") or ():
            for key in [key for key in self._stored if self._is_meant(key, which)]:
                self._remove(key)

    def _is_meant(self, key: ObjectKey, which: Document) -> bool:
        """By name, or by what it is about: names that the server chose are not known."""
        if "name" in which:
            return bool(key.name == which["name"])
        document = self._stored[key]
        labels = document.get("nodeTopology", {}).get("matchLabels") or {}
        wanted = (which["storageClassName"], which.get("matchLabels") or {})
        return bool((document["storageClassName"], labels) == wanted)

    def _store(self, document: Document) -> None:
        capacity = from_document(CSIStorageCapacity, document)
        self._stored[capacity.key] = document
        self._publisher.put_object(capacity, NOW)

    def _remove(self, key: ObjectKey) -> None:
        if self._stored.pop(key, None) is not None:
            self._publisher.remove_object(key)

    def _settle(self) -> None:
        """Until nothing is left to do. What the driver does not answer is not asked again."""
        while True:
            removals = self._publisher.decide_removals(NOW)
            self._enact(removals)
            pair = self._publisher.take()
            if pair is None and not removals.writes:
                return
            if pair is None:
                continue
            question = self._publisher.question(pair)
            if question is not None:
                answer = self._ask(question)
                if answer is None:
                    self._publisher.unanswered(pair)
                else:
                    self._enact(self._publisher.answered(pair, answer, NOW))
            self._publisher.finish(pair, NOW)

    def _ask(self, question: CapacityQuestion) -> CapacityAnswer | None:
        asked = {
            "accessibleTopology": dict(question.topology),
            "parameters": dict(question.parameters),
        }
        self._seen["getCapacityCalls"].append(asked)
        for rule in self._driver:
            if _is_part(rule.get("matchTopology"), question.topology) and _is_part(
                rule.get("matchParameters"), question.parameters
            ):
                if rule.get("error"):
                    return None
                return CapacityAnswer(
                    rule.get("availableCapacity", 0), rule.get("maximumVolumeSize")
                )
        return CapacityAnswer(0)

    def _enact(self, plan: Plan) -> None:
        for write in plan.writes:
            match write:
                case Create(document=document):
                    self._create(document)
                case Patch(key=key, patch=patch):
                    changed = _as_stored(merge_patch.apply(self._stored[key], patch))
                    owners = changed["metadata"].get("ownerReferences") or []
                    self._seen["updated"].append(
                        self._slim(key, changed) | {"ownerReferences": owners}
                    )
                    self._store(changed)
                case Delete(key=key):
                    slim = self._slim(key, self._stored[key])
                    kept = ("storageClassName", "name", "generated", "nodeTopology")
                    self._seen["deleted"].append({k: v for k, v in slim.items() if k in kept})
                    self._remove(key)
                case _:
                    raise AssertionError(write)

    def _create(self, document: Document) -> None:
        document = _as_stored(document)
        metadata = document["metadata"]
        shown = {k: v for k, v in metadata.items() if k != "namespace"}
        hidden = ("apiVersion", "kind")
        self._seen["created"].append(
            {k: v for k, v in document.items() if k not in hidden} | {"metadata": shown}
        )
        number = next(self._numbers)
        name = f"{metadata['generateName']}{number}"
        named = metadata | {"name": name, "uid": f"uid-{number}"}
        self._generated.add(ObjectKey(self._case["namespace"], name))
        self._store(document | {"metadata": named})

    def _answer(self) -> Document:
        objects = [self._slim(key, document) for key, document in self._stored.items()]
        metrics = self._publisher.metrics._asdict()
        return self._seen | {"objects": objects, "metrics": metrics}

    def _slim(self, key: ObjectKey, document: Document) -> Document:
        return dict(self._slim_fields(key, document))

    def _slim_fields(self, key: ObjectKey, document: Document) -> Iterator[tuple[str, Any]]:
        metadata = document["metadata"]
        yield "storageClassName", document["storageClassName"]
        yield ("generated", True) if key in self._generated else ("name", key.name)
        for field in ("nodeTopology", "capacity", "maximumVolumeSize"):
            if document.get(field) is not None:
                yield field, document[field]
        if owners := metadata.get("ownerReferences"):
            yield "ownerUIDs", [owner["uid"] for owner in owners]
        usual = {DRIVER_NAME: self._case["driverName"], MANAGED_BY: self._case["managedByID"]}
        if (labels := metadata.get("labels") or {}) != usual:
            yield "labels", labels
        if key.namespace != self._case["namespace"]:
            yield "namespace", key.namespace


def _local_topology(case: Document) -> Mapping[str, str] | None:
    if not case["nodeDeployment"]:
        return None
    return (case["nodeDeploymentTopology"] or {}).get("segments") or {}


def _as_stored(document: Document) -> Document:
    """A server writes sizes its own way: 5000000000 becomes 5G."""
    sizes = ("capacity", "maximumVolumeSize")
    written = {name: canonical_quantity(document[name]) for name in sizes if name in document}
    return document | written


def _is_part(wanted: Mapping[str, str] | None, given: Mapping[str, str]) -> bool:
    return (wanted or {}).items() <= given.items()


def _volume(provisioned: Document) -> PersistentVolume:
    affinity = provisioned.get("nodeAffinity")
    return PersistentVolume(
        metadata=ObjectMeta(name="pvc-1"),
        spec=VolumeSpec(
            storage_class_name=provisioned.get("storageClass", ""),
            node_affinity=affinity and from_document(VolumeNodeAffinity, affinity),
        ),
    )
