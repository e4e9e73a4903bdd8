"""Which in-tree plugins were migrated to which CSI drivers.

For all of them the migration is complete: a loop that meets such a plugin's name leaves the work to
the driver.
"""

from collections.abc import Mapping

from plimsoll.decide.annotations import MIGRATED_TO

IN_TREE_PREFIX = "kubernetes.io/"
"""Provisioners with such a name are part of the controller, or do not exist."""

DRIVER_BY_PLUGIN: Mapping[str, str] = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}


def is_in_tree(provisioner: str) -> bool:
    return provisioner.startswith(IN_TREE_PREFIX)


def find_driver(provisioner: str) -> str | None:
    """The CSI driver that does the work of this plugin; None for every other name."""
    return DRIVER_BY_PLUGIN.get(provisioner)


def migration_patch(
    annotations: Mapping[str, str], provisioner: str | None
) -> dict[str, str | None]:
    """How `migrated-to` has to change, as part of a merge patch; empty if it is right.

    Without a known provisioner nothing can be said, and nothing is changed.
    """
    if provisioner is None:
        return {}
    wanted, current = find_driver(provisioner), annotations.get(MIGRATED_TO, "")
    if wanted is not None:
        return {} if wanted == current else {MIGRATED_TO: wanted}
    return {MIGRATED_TO: None} if current else {}
