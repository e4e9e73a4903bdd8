"""Whether published capacity is looked at when a new volume is to be provisioned.

A scheduler that does not look sends pods where no capacity is left. Whether it looks is the
driver's choice, and easily forgotten: this says so for each claim.
"""

from enum import StrEnum

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.rules.volume_binding.claims import PodClaims, prepare
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import NO_PROVISIONER
from plimsoll.decide.scheduling.view import ClusterView


class CapacityUse(StrEnum):
    CONSULTED = "consulted"
    NOT_TRACKED = "not-tracked"
    """The CSIDriver object does not ask for storageCapacity: every node has room."""
    UNKNOWN_DRIVER = "unknown-driver"
    """There is no CSIDriver object of that name: every node has room."""


def capacity_uses(pod: Pod, view: ClusterView) -> list[CapacityUse]:
    """One for each of the pod's delay-bound claims that a volume may be provisioned for."""
    claims = prepare(pod, view) if pod.spec.volumes else None
    if not isinstance(claims, PodClaims):
        return []
    found = []
    for claim in claims.delayed:
        storage_class = view.storage_class(claim.storage_class)
        if storage_class is not None and storage_class.provisioner != NO_PROVISIONER:
            found.append(_use(storage_class.provisioner, view))
    return found


def _use(provisioner: str, view: ClusterView) -> CapacityUse:
    driver = view.csi_driver(provisioner)
    if driver is None:
        return CapacityUse.UNKNOWN_DRIVER
    return CapacityUse.CONSULTED if driver.spec.storage_capacity else CapacityUse.NOT_TRACKED
