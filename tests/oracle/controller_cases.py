"""Asks `plimsoll.decide.claims`, and what belongs to it, to look after one object or a cluster."""

from typing import Any

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.storage import StorageClass
from plimsoll.api.typed import from_document
from tests.decide.claims.world import (
    CLAIM,
    VOLUME,
    Plugin,
    Plugins,
    World,
    key_of,
    look_after,
    rendered,
)

Answer = dict[str, Any]
KINDS = {"PersistentVolumeClaim": CLAIM, "PersistentVolume": VOLUME}


def pv_controller_sync(case: dict[str, Any]) -> Answer:
    world = _world(case)
    before = dict(world.documents)
    target = case["target"]
    kind, key = KINDS[target["kind"]], ObjectKey.parse(target["name"])
    decisions = look_after(world, kind, key)
    answer = {"events": world.events, "apiWrites": world.writes, **_changes(world, before)}
    woken = [str(claim) for decision in decisions for claim in decision.plan.wake]
    if woken:
        answer["enqueuedClaims"] = woken
    if complaint := decisions[-1].complaint:
        answer["error"] = complaint
    return answer


def pv_controller_converge(case: dict[str, Any]) -> Answer:
    world = _world(case)
    before = dict(world.documents)
    events: list[Document] = []
    kinds = [CLAIM, VOLUME] if case["order"] == "claims-first" else [VOLUME, CLAIM]
    rounds = 0
    while True:
        made = len(world.writes)
        for kind in kinds:
            for key in world.keys(kind):
                world.events = []
                if complaint := look_after(world, kind, key)[-1].complaint:
                    events.append({"syncError": complaint})
                events += world.events
        if len(world.writes) == made:
            break
        rounds += 1
    return {"rounds": rounds, "events": events, **_changes(world, before)}


def _world(case: dict[str, Any]) -> World:
    objects = [(CLAIM, claim) for claim in case["persistentVolumeClaims"]]
    objects += [(VOLUME, volume) for volume in case["persistentVolumes"]]
    classes = [from_document(StorageClass, class_) for class_ in case["storageClasses"]]
    nodes = [from_document(Node, node) for node in case["nodes"]]
    plugin = case.get("inTreePlugin")
    unseen = case.get("notInControllerCache") or []
    return World(
        documents={(kind, key_of(document)): rendered(document) for kind, document in objects},
        classes={class_.name: class_ for class_ in classes},
        nodes={node.name: node for node in nodes},
        pods=[from_document(Pod, pod) for pod in case["pods"]],
        provisioners=Plugins(Plugin(plugin) if plugin is not None else None),
        provisions_dynamically=not case.get("dynamicProvisioningDisabled", False),
        unseen=frozenset(ObjectKey.parse(name.partition("/")[2]) for name in unseen),
    )


def _changes(world: World, before: dict[tuple[str, ObjectKey], Document]) -> Answer:
    changed: dict[str, dict[str, Document]] = {CLAIM: {}, VOLUME: {}}
    for (kind, key), document in world.documents.items():
        if before.get((kind, key)) != document:
            changed[kind][str(key)] = document
    deleted = sorted(str(key) for kind, key in before if (kind, key) not in world.documents)
    answer: Answer = {"changedClaims": changed[CLAIM], "changedVolumes": changed[VOLUME]}
    return answer | ({"deletedVolumes": deleted} if deleted else {})
