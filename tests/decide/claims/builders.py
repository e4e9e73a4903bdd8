"""Worlds and half-written objects for the tests of binding."""

from collections.abc import Mapping

import msgspec

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import BIND_COMPLETED, YES
from tests.builders import document
from tests.decide.claims.world import CLAIM, VOLUME, Plugin, Plugins, World, key_of, rendered

VERSION = "5"


def a_world(*objects: ApiObject, plugin: Plugin | None = None) -> World:
    world = World(provisioners=Plugins(plugin))
    for object_ in objects:
        match object_:
            case PersistentVolumeClaim():
                put(world, CLAIM, document(object_))
            case PersistentVolume():
                put(world, VOLUME, document(object_))
            case StorageClass():
                world.classes[object_.name] = object_
            case Node():
                world.nodes[object_.name] = object_
            case Pod():
                world.pods.append(object_)
            case _:
                raise AssertionError(object_)
    return world


def put(world: World, kind: str, document_: Document) -> None:
    document_["metadata"].setdefault("resourceVersion", VERSION)
    world.documents[kind, key_of(document_)] = rendered(document_)


def the_claim(world: World, name: str = "data") -> PersistentVolumeClaim:
    claim = world.read_claim(ObjectKey("default", name))
    assert claim is not None
    return claim


def the_volume(world: World, name: str = "volume-1") -> PersistentVolume:
    volume = world.volume(name)
    assert volume is not None
    return volume


def annotated_claim(
    claim: PersistentVolumeClaim, annotations: Mapping[str, str]
) -> PersistentVolumeClaim:
    metadata = msgspec.structs.replace(
        claim.metadata, annotations={**claim.annotations, **annotations}
    )
    return msgspec.structs.replace(claim, metadata=metadata)


def completed(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    return annotated_claim(claim, {BIND_COMPLETED: YES})


def annotated_volume(
    volume: PersistentVolume, annotations: Mapping[str, str], finalizers: tuple[str, ...] = ()
) -> PersistentVolume:
    metadata = msgspec.structs.replace(
        volume.metadata,
        annotations={**volume.annotations, **annotations},
        finalizers=finalizers,
    )
    return msgspec.structs.replace(volume, metadata=metadata)


def in_phase(volume: PersistentVolume, phase: str, message: str = "") -> PersistentVolume:
    status = msgspec.structs.replace(volume.status, phase=phase, message=message)
    return msgspec.structs.replace(volume, status=status)


def with_policy(volume: PersistentVolume, policy: str) -> PersistentVolume:
    """On a source that no CSI driver has a hand in."""
    spec = msgspec.structs.replace(volume.spec, persistent_volume_reclaim_policy=policy, csi=None)
    return msgspec.structs.replace(volume, spec=spec)


def events(world: World) -> list[tuple[str, str, str]]:
    return [(event["type"], event["reason"], event["message"]) for event in world.events]
