"""What a provisioner was told when it was started: by its flags, and by its driver.

Everything here stays the same for as long as the process runs, so decisions take it as one value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

INFEASIBLE_DELAY = timedelta(minutes=5)
RACE_FIRST_DELAY = timedelta(seconds=20)
RACE_LONGEST_DELAY = timedelta(seconds=60)


class ProvisionerMode(StrEnum):
    DEFAULT = "default"
    """No asset is lost sight of, and users are told why their claims wait."""
    COMPATIBLE = "compatible"
    """What csi-provisioner does and writes, down to its oddities."""


class DriverCapability(StrEnum):
    """What a driver may say of itself, as far as it matters here; names of CSI."""

    CONTROLLER_SERVICE = "CONTROLLER_SERVICE"
    VOLUME_ACCESSIBILITY_CONSTRAINTS = "VOLUME_ACCESSIBILITY_CONSTRAINTS"
    CREATE_DELETE_VOLUME = "CREATE_DELETE_VOLUME"
    CREATE_DELETE_SNAPSHOT = "CREATE_DELETE_SNAPSHOT"
    CLONE_VOLUME = "CLONE_VOLUME"
    MODIFY_VOLUME = "MODIFY_VOLUME"
    SINGLE_NODE_MULTI_WRITER = "SINGLE_NODE_MULTI_WRITER"
    PUBLISH_UNPUBLISH_VOLUME = "PUBLISH_UNPUBLISH_VOLUME"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDeployment:
    """The provisioner runs beside the driver on one node, and serves that node alone."""

    node_name: str
    node_id: str = ""
    segment: Mapping[str, str] | None = None
    """Where the driver says that the node is; None if it does not say."""
    takes_immediate_claims: bool = True
    """Whether claims that wait for no pod are competed for."""
    first_delay: timedelta = RACE_FIRST_DELAY
    longest_delay: timedelta = RACE_LONGEST_DELAY


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionerSettings:
    driver: str
    identity: str
    """Tells provisioners apart; drivers get it back in the attributes of each volume."""
    plugin_capabilities: frozenset[str] = frozenset()
    controller_capabilities: frozenset[str] = frozenset()
    mode: ProvisionerMode = ProvisionerMode.DEFAULT
    volume_name_prefix: str = "pvc"
    volume_name_uuid_length: int | None = None
    """None: the whole UID with its dashes. Else: as many of its characters, without dashes."""
    default_fs_type: str = ""
    extra_create_metadata: bool = False
    strict_topology: bool = False
    immediate_topology: bool = True
    controller_publish_readonly: bool = False
    prevent_volume_mode_conversion: bool = True
    attributes_classes: bool = True
    """Whether the API server knows VolumeAttributesClasses."""
    infeasible_delay: timedelta = INFEASIBLE_DELAY
    """How long a request that the driver calls infeasible is not repeated."""
    node: NodeDeployment | None = field(default=None)

    @property
    def is_compatible(self) -> bool:
        return self.mode is ProvisionerMode.COMPATIBLE

    @property
    def supports_topology(self) -> bool:
        return DriverCapability.VOLUME_ACCESSIBILITY_CONSTRAINTS in self.plugin_capabilities

    @property
    def sees_attachments(self) -> bool:
        """A driver that attaches nothing has no attachments to wait for."""
        return DriverCapability.PUBLISH_UNPUBLISH_VOLUME in self.controller_capabilities
