"""The names by which publishers and readers of capacity know each other.

Labels and the id of a publisher are csi-provisioner's, so that either program takes over what the
other has published. The lease of a publisher, and what is written on it, is ours alone.
"""

import re
from hashlib import sha256

from plimsoll.decide.plan import ResourceName

CAPACITIES = ResourceName("storage.k8s.io", "v1", "csistoragecapacities")
LEASES = ResourceName("coordination.k8s.io", "v1", "leases")

DRIVER_NAME = "csi.storage.k8s.io/drivername"
MANAGED_BY = "csi.storage.k8s.io/managed-by"
PUBLISHER = "external-provisioner"
"""The id of a publisher that speaks for all nodes."""
TEMPLATES = "plimsoll-templates"
"""The id under which numbers for node types are published: a publisher deletes what carries its
own id and names a segment that no node has."""
GENERATED_NAME = "csisc-"

TEMPLATE_NODE = "cluster-autoscaler.kubernetes.io/template-node"
"""The cluster autoscaler gives this label to the nodes that it only imagines."""

PURPOSE = "plimsoll.dev/lease"
CAPACITY_PURPOSE = "capacity"
"""Label and value of the leases of publishers."""
OLDEST_REPORT = "plimsoll.dev/oldest-report"
"""When the driver gave the oldest of the numbers that are published."""
UNANSWERED = "plimsoll.dev/unanswered"
"""For how many pairs of segment and class the driver last gave no answer."""

MAX_LABEL = 63
HASH_DIGITS = 8
FNV_OFFSET, FNV_PRIME, FNV_MASK = 2166136261, 16777619, 0xFFFFFFFF
NOT_IN_LEADER_LEASES = re.compile(r"[^a-zA-Z0-9-]")
NOT_IN_NAMES = re.compile(r"[^a-z0-9.-]")


def managed_by(node: str = "") -> str:
    """The id of the publisher that speaks for one node, or for all.

    It must fit into a label. The base is shortened first; a node whose name leaves no space for
    that is represented by a hash.
    """
    if not node:
        return PUBLISHER
    whole = f"{PUBLISHER}-{node}"
    if len(whole) <= MAX_LABEL:
        return whole
    length = MAX_LABEL - len(node) - HASH_DIGITS - len("--")
    if length > 0:
        return f"{PUBLISHER[:length]}-{_fnv_1a(PUBLISHER)}-{node}"
    return f"{PUBLISHER}-{_fnv_1a(whole)}"


def _fnv_1a(text: str) -> str:
    value = FNV_OFFSET
    for byte in text.encode():
        value = ((value ^ byte) * FNV_PRIME) & FNV_MASK
    return f"{value:08x}"


def leader_lease_name(driver: str) -> str:
    """The lease for which copies of csi-provisioner compete."""
    name = NOT_IN_LEADER_LEASES.sub("-", driver)
    return f"{name}X" if name.endswith("-") else name


def publisher_lease_name(driver: str, publisher: str) -> str:
    """One for each publisher; beside the driver's name a hash keeps those on nodes apart."""
    readable = NOT_IN_NAMES.sub("-", driver.lower()).strip(".-")[:MAX_LABEL].strip(".-")
    digest = sha256(f"{driver}\n{publisher}".encode()).hexdigest()[:12]
    return f"plimsoll-capacity-{readable}-{digest}" if readable else f"plimsoll-capacity-{digest}"
