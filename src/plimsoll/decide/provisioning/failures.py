"""Why a volume is not provisioned or deleted, and what is known about it then.

Inside one attempt the first problem ends it: it is raised as a RefusalError, which never leaves
this package. Outside it is a ProvisioningFailure, a value.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn


class ProvisioningState(StrEnum):
    """What may be going on at the driver after an attempt."""

    FINISHED = "Finished"
    """Nothing: there is a volume and it is known, or there is none."""
    IN_BACKGROUND = "InBackground"
    """It may be creating the volume; the same call is repeated until the answer is final."""
    NO_CHANGE = "NoChange"
    """As before the attempt: the driver was not asked."""
    RESCHEDULE = "Reschedule"
    """Nothing, and the scheduler should select another node."""


class Problem(StrEnum):
    CLASS_NOT_FOUND = "StorageClassNotFound"
    CROSS_NAMESPACE = "CrossNamespaceSource"
    SOURCE_WITHOUT_NAME = "SourceWithoutName"
    SOURCE_API_GROUP = "SourceOfOtherApiGroup"
    SOURCE_UNUSABLE = "SourceUnusable"
    CAPABILITY_MISSING = "CapabilityMissing"
    SELECTOR = "SelectorNotSupported"
    VOLUME_NAME = "VolumeNameImpossible"
    VOLUME_NAME_TAKEN = "VolumeNameTaken"
    FS_TYPE_TWICE = "FsTypeGivenTwice"
    ACCESS_MODE = "AccessModeUnknown"
    PROTECTION_FAILED = "SourceNotProtected"
    TOPOLOGY = "TopologyUnknown"
    NODE_NOT_FOUND = "SelectedNodeNotFound"
    SECRET_PARAMETERS = "SecretParametersIncomplete"  # noqa: S105  a name, not a secret
    SECRET_TEMPLATE = "SecretTemplateUnknownToken"  # noqa: S105  a name, not a secret
    SECRET_NAME = "SecretNameInvalid"  # noqa: S105  a name, not a secret
    SECRET_NAMESPACE = "SecretNamespaceInvalid"  # noqa: S105  a name, not a secret
    SECRET_NOT_FOUND = "SecretNotFound"  # noqa: S105  a name, not a secret
    UNKNOWN_PARAMETER = "UnknownReservedParameter"
    ATTRIBUTES_CLASS_NOT_FOUND = "VolumeAttributesClassNotFound"
    ATTRIBUTES_CLASS_OF_OTHER_DRIVER = "VolumeAttributesClassOfOtherDriver"
    INFEASIBLE = "Infeasible"
    """The driver says that the request can never work."""
    DRIVER_REFUSED = "DriverRefused"
    TOO_SMALL = "VolumeTooSmall"
    CONTENT_SOURCE_MISSING = "ContentSourceMissing"
    OUTSIDE_ALLOWED = "OutsideAllowedTopologies"
    """The driver's volume is reachable from where its class does not allow it."""
    UNWANTED = "VolumeNotWantedAnyMore"
    """Its claim is gone or took another volume, and it could not be deleted yet."""
    NOT_CSI = "NotCsiVolume"
    AFFINITY = "AffinityUnreadable"
    STILL_ATTACHED = "StillAttached"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisioningFailure:
    problem: Problem
    message: str
    """What the user reads in the event."""
    state: ProvisioningState = ProvisioningState.FINISHED


class RefusalError(Exception):
    def __init__(self, failure: ProvisioningFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def refuse(
    problem: Problem, message: str, state: ProvisioningState = ProvisioningState.FINISHED
) -> NoReturn:
    raise RefusalError(ProvisioningFailure(problem=problem, message=message, state=state))
