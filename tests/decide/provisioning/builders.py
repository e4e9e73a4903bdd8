"""A small cluster in which a claim waits to be provisioned; tests change one thing about it."""

from dataclasses import replace
from typing import Any

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.annotations import (
    EXTERNAL_DELETION,
    PROVISIONED_BY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
)
from plimsoll.decide.provisioning.calls import CreatedVolume
from plimsoll.decide.provisioning.settings import (
    DriverCapability,
    NodeDeployment,
    ProvisionerSettings,
)
from tests.builders import CLASS, DRIVER, ZONE
from tests.decide.provisioning.world import (
    CLAIMS,
    CLASSES,
    CSI_NODES,
    NODES,
    SECRETS,
    VOLUMES,
    Driver,
    World,
)

GIB = 1024**3
CLAIM = ObjectKey("default", "data")
UID = "11111111-2222-3333-4444-555555555555"
NAME = f"pvc-{UID}"

PLUGIN = frozenset(
    {DriverCapability.CONTROLLER_SERVICE, DriverCapability.VOLUME_ACCESSIBILITY_CONSTRAINTS}
)
CONTROLLER = frozenset(
    {
        DriverCapability.CREATE_DELETE_VOLUME,
        DriverCapability.CREATE_DELETE_SNAPSHOT,
        DriverCapability.CLONE_VOLUME,
        DriverCapability.MODIFY_VOLUME,
        DriverCapability.PUBLISH_UNPUBLISH_VOLUME,
    }
)
SETTINGS = ProvisionerSettings(
    driver=DRIVER,
    identity="provisioner-1",
    plugin_capabilities=frozenset(PLUGIN),
    controller_capabilities=frozenset(CONTROLLER),
)
ON_NODE = replace(SETTINGS, node=NodeDeployment(node_name="node-1", segment={ZONE: "a"}))
MADE = CreatedVolume(volume_id="disk-1", capacity_bytes=GIB, segments=({ZONE: "a"},))
ONLY_A = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]
"""allowedTopologies of a class whose volumes must stay in zone a."""


def a_claim_document(**spec: Any) -> Document:
    """Of the class and driver of the other builders, with node-1 selected for it."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "namespace": CLAIM.namespace,
            "name": CLAIM.name,
            "uid": UID,
            "resourceVersion": "7",
            "annotations": {STORAGE_PROVISIONER: DRIVER, SELECTED_NODE: "node-1"},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": CLASS,
        }
        | spec,
    }


def a_class_document(**fields: Any) -> Document:
    return {
        "metadata": {"name": CLASS, "uid": "class-uid"},
        "provisioner": DRIVER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    } | fields


def a_volume_document(**spec: Any) -> Document:
    """Released, and to be deleted by us."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": NAME,
            "uid": "volume-uid",
            "annotations": {PROVISIONED_BY: DRIVER},
            "finalizers": [EXTERNAL_DELETION],
        },
        "spec": {
            "capacity": {"storage": "1Gi"},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": CLASS,
            "claimRef": {"namespace": CLAIM.namespace, "name": CLAIM.name, "uid": UID},
            "csi": {"driver": DRIVER, "volumeHandle": "disk-1"},
        }
        | spec,
        "status": {"phase": "Released"},
    }


def a_secret_document(name: str, namespace: str = "vault") -> Document:
    return {"metadata": {"name": name, "namespace": namespace}, "data": {"user": "Ym9i"}}


def a_world(
    *,
    settings: ProvisionerSettings = SETTINGS,
    claim: Document | None = None,
    class_: Document | None = None,
) -> World:
    """Two nodes in zones a and b, and a driver that makes what it is asked for."""
    world = World(settings=settings, driver=Driver(create=MADE))
    world.add(CLAIMS, claim or a_claim_document())
    world.add(CLASSES, class_ or a_class_document())
    for node, zone in (("node-1", "a"), ("node-2", "b")):
        driver = {"name": DRIVER, "nodeID": node, "topologyKeys": [ZONE]}
        world.add(NODES, {"metadata": {"name": node, "labels": {ZONE: zone}}})
        world.add(CSI_NODES, {"metadata": {"name": node}, "spec": {"drivers": [driver]}})
    world.add(SECRETS, a_secret_document("admin"))
    return world


def claim_in(world: World) -> Document:
    return world.documents[CLAIMS, CLAIM]


def volumes_in(world: World) -> list[str]:
    return [key.name for kind, key in world.documents if kind == VOLUMES]


def annotate(document: Document, **changes: str | None) -> Document:
    """`annotate(claim, selected_node=None)`: by the short names used in these tests."""
    names = {"selected_node": SELECTED_NODE, "provisioner": STORAGE_PROVISIONER}
    annotations = document["metadata"].setdefault("annotations", {})
    for name, value in changes.items():
        annotations.pop(names[name], None)
        if value is not None:
            annotations[names[name]] = value
    return document


def messages(world: World) -> list[str]:
    return [f"{event['type']} {event['reason']}: {event['message']}" for event in world.events]


def reasons(world: World) -> list[str]:
    return [f"{event['type']} {event['reason']}" for event in world.events]
