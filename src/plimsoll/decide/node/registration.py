"""What a driver that registers on a node leaves there: an entry in CSINode, and topology labels.

Topology labels are promises that volumes were made on: a driver that comes back with another value
for a label is refused, and an administrator has to decide.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from plimsoll.api.core import Node
from plimsoll.api.registry import Document
from plimsoll.api.storage import CSINode, CSINodeDriver
from plimsoll.decide.annotations import MIGRATED_PLUGINS
from plimsoll.decide.csi.migration import DRIVER_BY_PLUGIN
from plimsoll.decide.plan import NOTHING, Create, Patch, Plan, ResourceName, Write
from plimsoll.decide.resources import NODES

CSI_NODES = ResourceName("storage.k8s.io", "v1", "csinodes")
NODE_IDS = "csi.volume.kubernetes.io/nodeid"
"""On a Node: how its drivers call it, as JSON."""
PLUGIN_TYPE = "CSIPlugin"
VERSION_ONE = re.compile(r"v?1(\.\d+){0,2}")


class RegistrationReason(StrEnum):
    REGISTERED = "DriverRegistered"
    """The driver's entry and labels are written."""
    UNREGISTERED = "DriverUnregistered"
    """The driver is gone, and its entry is taken away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverOnNode:
    """What a driver answers to NodeGetInfo."""

    name: str
    node_id: str
    topology: Mapping[str, str] = field(default_factory=dict)
    volume_limit: int = 0
    """0: the driver names none."""

    def entry(self) -> Document:
        entry: Document = {
            "name": self.name,
            "nodeID": self.node_id,
            "topologyKeys": sorted(self.topology) or None,
        }
        return entry | ({"allocatable": {"count": self.volume_limit}} if self.volume_limit else {})


def plugin_complaint(type_: str, name: str, versions: Collection[str]) -> str:
    """What is wrong with a plugin that wants to register; empty if nothing is."""
    if type_ != PLUGIN_TYPE:
        return f"plugin type {type_!r} is not served on this node; {PLUGIN_TYPE} is"
    if not name:
        return "the plugin has no name"
    if not any(VERSION_ONE.fullmatch(version) for version in versions):
        known = ", ".join(sorted(versions)) or "none"
        return f"driver {name}: none of its versions is supported (it has {known}; 1.x is needed)"
    return ""


def topology_complaint(driver: DriverOnNode, node: Node) -> str:
    """What keeps the driver from registering; empty if nothing does."""
    if not driver.node_id:
        return f"driver {driver.name}: NodeGetInfo gave no node id"
    for key, value in sorted(driver.topology.items()):
        current = node.labels.get(key, value)
        if current != value:
            return (
                f"driver {driver.name}: detected topology value collision: driver reported "
                f'"{key}":"{value}" but existing label is "{key}":"{current}"'
            )
    return ""


def decide_registration(driver: DriverOnNode, node: Node, csi_node: CSINode | None) -> Plan:
    """The labels come first: who sees the entry finds them there."""
    writes = [*_node_writes(node, driver.name, driver), *_entry_writes(driver, node, csi_node)]
    return Plan(reason=RegistrationReason.REGISTERED, writes=tuple(writes)) if writes else NOTHING


def decide_unregistration(name: str, node: Node | None, csi_node: CSINode | None) -> Plan:
    """Labels stay: volumes are still where they were."""
    writes: list[Write] = []
    if csi_node is not None and csi_node.find_driver(name) is not None:
        writes.append(_drivers_patch(csi_node, _entries(csi_node, without=name)))
    if node is not None:
        writes += _node_writes(node, name, None)
    return Plan(reason=RegistrationReason.UNREGISTERED, writes=tuple(writes)) if writes else NOTHING


# The node


def _node_writes(node: Node, name: str, driver: DriverOnNode | None) -> list[Write]:
    ids = _node_ids(node)
    wanted = {key: value for key, value in ids.items() if key != name}
    labels: dict[str, str] = {}
    if driver is not None:
        wanted[name] = driver.node_id
        labels = {k: v for k, v in driver.topology.items() if node.labels.get(k) != v}
    metadata: Document = {"labels": labels} if labels else {}
    if wanted != ids:
        text = msgspec.json.encode(dict(sorted(wanted.items()))).decode() if wanted else None
        metadata["annotations"] = {NODE_IDS: text}
    if not metadata:
        return []
    version = node.metadata.resource_version
    patch = {"metadata": metadata}
    return [Patch(resource=NODES, key=node.key, patch=patch, version=version, uid=node.uid)]


def _node_ids(node: Node) -> dict[str, str]:
    try:
        return msgspec.json.decode(node.annotations.get(NODE_IDS) or "{}", type=dict[str, str])
    except msgspec.DecodeError:
        return {}


# Its CSINode


def new_csi_node(node: Node, entries: list[Document]) -> Document:
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {
            "name": node.name,
            "ownerReferences": [owner],
            "annotations": {MIGRATED_PLUGINS: ",".join(sorted(DRIVER_BY_PLUGIN))},
        },
        "spec": {"drivers": entries},
    }


def _entry_writes(driver: DriverOnNode, node: Node, csi_node: CSINode | None) -> list[Write]:
    if csi_node is None:
        return [Create(resource=CSI_NODES, document=new_csi_node(node, [driver.entry()]))]
    found = csi_node.find_driver(driver.name)
    if found is not None and _document(found) == driver.entry():
        return []
    others = _entries(csi_node, without=driver.name)
    added = _drivers_patch(csi_node, [*others, driver.entry()])
    if found is None:
        return [added]
    # Entries cannot be changed, only taken away and put back.
    return [_drivers_patch(csi_node, others), added]


def _entries(csi_node: CSINode, *, without: str) -> list[Document]:
    return [_document(entry) for entry in csi_node.spec.drivers or () if entry.name != without]


def _document(entry: CSINodeDriver) -> Document:
    limit = entry.allocatable
    document: Document = {
        "name": entry.name,
        "nodeID": entry.node_id,
        "topologyKeys": list(entry.topology_keys) if entry.topology_keys else None,
    }
    return document | ({"allocatable": {"count": limit.count}} if limit and limit.count else {})


def _drivers_patch(csi_node: CSINode, entries: list[Document]) -> Patch:
    return Patch(
        resource=CSI_NODES,
        key=csi_node.key,
        patch={"spec": {"drivers": entries}},
        version=csi_node.metadata.resource_version,
        uid=csi_node.uid,
    )
