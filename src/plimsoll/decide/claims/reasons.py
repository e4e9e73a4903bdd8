"""Why binding, provisioning and reclaiming decide what they decide.

The first block are also the reasons of events: users, tools and dashboards know them by these
names.
"""

from enum import StrEnum


class BindingReason(StrEnum):
    FAILED_BINDING = "FailedBinding"
    VOLUME_MISMATCH = "VolumeMismatch"
    WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
    WAIT_FOR_POD_SCHEDULED = "WaitForPodScheduled"
    CLAIM_LOST = "ClaimLost"
    CLAIM_MISBOUND = "ClaimMisbound"
    EXTERNAL_PROVISIONING = "ExternalProvisioning"
    PROVISIONING_FAILED = "ProvisioningFailed"
    PROVISIONING_CLEANUP_FAILED = "ProvisioningCleanupFailed"
    PROVISIONING_SUCCEEDED = "ProvisioningSucceeded"
    SELECTED_NODE_CHANGED = "SelectedNodeChanged"
    VOLUME_DELETE = "VolumeDelete"
    VOLUME_FAILED_DELETE = "VolumeFailedDelete"
    VOLUME_FAILED_RECYCLE = "VolumeFailedRecycle"
    VOLUME_RECYCLED = "VolumeRecycled"
    VOLUME_UNKNOWN_RECLAIM_POLICY = "VolumeUnknownReclaimPolicy"

    MIGRATION_NOTED = "MigrationNoted"
    """The annotations and finalizers now name the program that takes care of the object."""
    BOUND = "Bound"
    BINDING_IS_INCOMPLETE = "BindingIsIncomplete"
    """The volume names the claim, the claim names nothing yet: its own decision will."""
    REQUESTED_VOLUME_IS_MISSING = "RequestedVolumeIsMissing"
    DEFAULT_CLASS_ASSIGNED = "DefaultClassAssigned"
    CLASS_WITHOUT_BINDING_MODE = "ClassWithoutBindingMode"
    SELECTOR_IS_INVALID = "SelectorIsInvalid"
    PROVISIONING_IS_DISABLED = "ProvisioningIsDisabled"
    PROVISIONING = "Provisioning"
    PROVISIONED_ALREADY = "ProvisionedAlready"
    AVAILABLE = "Available"
    CLAIM_SEEMS_GONE = "ClaimSeemsGone"
    """To be confirmed by the server before the volume is released."""
    UNBOUND = "Unbound"
    """The claim took another volume."""
    RETAINED = "Retained"
    LEFT_TO_DRIVER = "LeftToDriver"
    """An external provisioner deletes what is behind the volume."""
    DELETING = "Deleting"
    DELETED = "Deleted"
    RECYCLING = "Recycling"
