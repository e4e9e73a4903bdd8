"""Parameters of a class: which are for the driver, and which for the provisioner.

Keys under `csi.storage.k8s.io/` are instructions to provisioners and do not reach the driver. One
that is not known there is a mistake, and no volume is provisioned with it.
"""

from collections.abc import Mapping

from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.provisioning.failures import Problem, refuse
from plimsoll.decide.provisioning.settings import ProvisionerSettings

RESERVED = "csi.storage.k8s.io/"
FS_TYPE = f"{RESERVED}fstype"
SECRET_USES = (
    "",
    "provisioner-",
    "controller-publish-",
    "node-stage-",
    "node-publish-",
    "controller-expand-",
    "node-expand-",
    "controller-modify-",
)
KNOWN = frozenset({FS_TYPE}) | {
    f"{RESERVED}{use}secret-{part}" for use in SECRET_USES for part in ("name", "namespace")
}


def file_system(parameters: Mapping[str, str], settings: ProvisionerSettings) -> str:
    """The class's choice, else the provisioner's; empty leaves it to the driver."""
    given = [
        value for key, value in parameters.items() if key.lower() == "fstype" or key == FS_TYPE
    ]
    if len(given) > 1:
        refuse(
            Problem.FS_TYPE_TWICE,
            f'fstype specified in parameters with both "fstype" and "{FS_TYPE}" keys',
        )
    return (given[0] if given else "") or settings.default_fs_type


def driver_parameters(parameters: Mapping[str, str]) -> dict[str, str]:
    unknown = sorted(key for key in parameters if key.startswith(RESERVED) and key not in KNOWN)
    if unknown:
        refuse(
            Problem.UNKNOWN_PARAMETER,
            "failed to strip CSI Parameters of prefixed keys: "
            f'found unknown parameter key "{unknown[0]}" with reserved namespace {RESERVED}',
        )
    return {key: value for key, value in parameters.items() if not key.startswith(RESERVED)}


def metadata_parameters(claim: PersistentVolumeClaim, volume_name: str) -> dict[str, str]:
    """For drivers that want to know the claim and the volume that they work for."""
    return {
        f"{RESERVED}pvc/name": claim.name,
        f"{RESERVED}pvc/namespace": claim.namespace,
        f"{RESERVED}pv/name": volume_name,
    }
