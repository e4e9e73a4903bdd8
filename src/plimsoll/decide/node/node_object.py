"""The Node object of a node of ours, and its Lease: what is written, and when it is time to.

The labels and annotations of others are left alone, as are conditions of other types. The status
is written when something in it changes, and otherwise rarely: that the node is alive is said by
its lease.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from plimsoll.api.core import Node
from plimsoll.api.meta import find_condition, wire_micro_time, wire_time
from plimsoll.api.registry import Document
from plimsoll.decide.claims.zonal import SUCCESSORS
from plimsoll.decide.csi.devices import Device

LEASES = "kube-node-lease"
LEASE_DURATION = timedelta(seconds=40)
RENEWALS_PER_SECOND = 50
"""So many a process makes without being a burden on the server."""
HOSTNAME = "kubernetes.io/hostname"
OS_LABEL, ARCHITECTURE = "kubernetes.io/os", "kubernetes.io/arch"
SAYS_NO_CONTAINERS = "plimsoll.dev/runs-containers"
"""On a Node: "false" where volumes are real and containers are not."""
CONTROLLER_ATTACHES = "volumes.kubernetes.io/controller-managed-attach-detach"
"""On a Node: a controller attaches devices for it, not the node itself."""
ANNOTATIONS = {SAYS_NO_CONTAINERS: "false", CONTROLLER_ATTACHES: "true"}
PRESSURES = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "there is sufficient memory"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "there is no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "there are sufficient process ids"),
}

READY = "Ready"
SERVES = ("KubeletReady", "plimsoll node is ready to serve volumes")
BEGINS = ("KubeletNotReady", "drivers are registering: it is not known yet what they can serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a node says about itself; it does not change while it lives."""

    name: str
    hostname: str = ""
    """Empty: the node's name."""
    address: str = "127.0.0.1"
    labels: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(default_factory=dict)
    architecture: str = "amd64"
    kernel: str = ""
    version: str = ""
    """Of this program."""

    @property
    def all_labels(self) -> dict[str, str]:
        own = {
            HOSTNAME: self.hostname or self.name,
            OS_LABEL: "linux",
            ARCHITECTURE: self.architecture,
        }
        return own | with_both_names(self.labels)


def with_both_names(labels: Mapping[str, str]) -> dict[str, str]:
    """Zone and region under their names of today and of old: classes and volumes use either."""
    pairs = [*SUCCESSORS.items(), *((new, old) for old, new in SUCCESSORS.items())]
    added = {other: labels[key] for key, other in pairs if key in labels}
    return added | dict(labels)


def new_node(machine: Machine) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": machine.name,
            "labels": machine.all_labels,
            "annotations": dict(ANNOTATIONS),
        },
    }


def missing_metadata(machine: Machine, node: Node) -> Document:
    """As part of a merge patch; empty if the node carries everything."""
    labels = {k: v for k, v in machine.all_labels.items() if node.labels.get(k) != v}
    says = {k: v for k, v in ANNOTATIONS.items() if node.annotations.get(k) != v}
    return {k: v for k, v in (("labels", labels), ("annotations", says)) if v}


def new_status(
    machine: Machine, node: Node, in_use: Collection[Device], now: datetime, *, is_ready: bool
) -> Document:
    """For a strategic merge patch: conditions are merged by their type."""
    quantities = dict(machine.capacity)
    return {
        "capacity": quantities,
        "allocatable": quantities,
        "addresses": [
            {"type": "InternalIP", "address": machine.address},
            {"type": "Hostname", "address": machine.hostname or machine.name},
        ],
        "conditions": _conditions(node, now, is_ready=is_ready),
        "nodeInfo": _info(machine),
        "volumesInUse": unique_names(in_use) or None,
    }


def unique_names(devices: Collection[Device]) -> list[str]:
    return sorted(device.unique_name for device in devices)


def is_current(machine: Machine, node: Node, in_use: Collection[Device], *, is_ready: bool) -> bool:
    """Whether the status says what it should, apart from its age."""
    status, ready = node.status, find_condition(node.status.conditions, READY)
    return (
        ready is not None
        and ready.status == str(is_ready)
        and dict(status.capacity) == dict(machine.capacity)
        and dict(status.allocatable) == dict(machine.capacity)
        and sorted(status.volumes_in_use) == unique_names(in_use)
    )


def _conditions(node: Node, now: datetime, *, is_ready: bool) -> list[Document]:
    told = {name: ("False", reason, text) for name, (reason, text) in PRESSURES.items()}
    told[READY] = (str(is_ready), *(SERVES if is_ready else BEGINS))
    return [_condition(node, type_, facts, now) for type_, facts in told.items()]


def _condition(node: Node, type_: str, facts: tuple[str, str, str], now: datetime) -> Document:
    status, reason, message = facts
    before = find_condition(node.status.conditions, type_)
    since = before.last_transition_time if before and before.status == status else None
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": wire_time(now),
        "lastTransitionTime": wire_time(since or now),
    }


def _info(machine: Machine) -> Document:
    return {
        "machineID": "",
        "systemUUID": "",
        "bootID": "",
        "kernelVersion": machine.kernel,
        "osImage": "linux",
        "containerRuntimeVersion": "none://0",
        "kubeletVersion": f"plimsoll-{machine.version}",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": machine.architecture,
    }


def new_lease(node: Node, now: datetime) -> Document:
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": LEASES, "name": node.name, "ownerReferences": [owner]},
        "spec": lease_spec(node.name, now),
    }


def renewal_period(wanted: timedelta, nodes: int) -> timedelta:
    """How often each of a process's nodes renews its lease.

    Many nodes renew less often than wanted, but twice in the lease's time at least: a controller
    gives a node up after fifty seconds of silence.
    """
    spread = timedelta(seconds=nodes / RENEWALS_PER_SECOND)
    return max(wanted, min(spread, LEASE_DURATION / 2))


def lease_spec(name: str, now: datetime) -> Document:
    return {
        "holderIdentity": name,
        "leaseDurationSeconds": round(LEASE_DURATION.total_seconds()),
        "renewTime": wire_micro_time(now),
    }
