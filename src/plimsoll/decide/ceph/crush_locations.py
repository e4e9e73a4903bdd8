"""Where a node is in the terms of Ceph's CRUSH map, for clients that read from the nearest copy."""

from collections.abc import Mapping, Sequence

from plimsoll.decide.ceph.label_names import short_name

TYPES = {"hostname": "host"}
"""What Kubernetes and Ceph call differently."""


def crush_location(labels: Sequence[str], node_labels: Mapping[str, str]) -> dict[str, str]:
    """Values by the type of bucket; of two labels of one type, the one named first counts.

    Labels that the node does not have, or has without a value, are left out. Names of buckets have
    no dots: they become dashes.
    """
    found: dict[str, str] = {}
    for label in labels:
        if value := node_labels.get(label):
            found.setdefault(_bucket_type(label), value.strip().replace(".", "-"))
    return found


def _bucket_type(label: str) -> str:
    name = short_name(label).strip()
    return TYPES.get(name, name)
