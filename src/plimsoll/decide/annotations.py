"""Names that claims, volumes and classes carry between the programs that work on them.

They are the protocol by which the scheduler, the controller, provisioners and drivers hand a claim
on to each other, so they are spelled here and nowhere else.
"""

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""On a claim: its binding was completed once. From then on a missing volume is a loss."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""On either side: a controller chose the binding, not a user, so it may be taken back."""
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""On a claim: the node that the scheduler wants the volume to be provisioned for."""
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
"""On a claim: its provisioner. The older name is still written beside the newer."""
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
"""On a volume: the provisioner that created it, and so deletes it."""
MIGRATED_TO = "pv.kubernetes.io/migrated-to"
"""On either side: the CSI driver that took over from a plugin of Kubernetes itself."""
PRE_RESIZE_CAPACITY = "volume.alpha.kubernetes.io/pre-resize-capacity"
"""On a volume: how much of it can be used until its file system has grown."""
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
"""On a CSINode: the plugins that this node leaves to CSI drivers."""

CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"
INTERNAL_DELETION = "kubernetes.io/pv-controller"
"""Finalizer of volumes that this process deletes."""
EXTERNAL_DELETION = "external-provisioner.volume.kubernetes.io/finalizer"
"""Finalizer of volumes that an external provisioner deletes."""

YES = "yes"
"""What annotations say that only need to be there."""
