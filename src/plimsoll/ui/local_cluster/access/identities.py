"""The user that each part of a local cluster is, by Kubernetes' names where it has one."""

from dataclasses import dataclass
from pathlib import Path

DIRECTORY = "credentials"
SCHEDULER_USER = "system:kube-scheduler"
CONTROLLER_USER = "system:kube-controller-manager"
PROVISIONERS, NODES = "plimsoll:provisioners", "plimsoll:nodes"
"""Groups that the roles of Plimsoll's own needs are granted to."""
KUBELETS = "system:nodes"
HOLLOW_USER = "plimsoll:hollow-nodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartIdentity:
    file_name: str
    """Of its kubeconfig and its certificate, without what follows the dot."""
    user: str
    groups: tuple[str, ...] = ()

    def kubeconfig(self, data_dir: Path) -> Path:
        return data_dir / DIRECTORY / f"{self.file_name}.kubeconfig"


SCHEDULER = PartIdentity(file_name="scheduler", user=SCHEDULER_USER)
CONTROLLER = PartIdentity(file_name="controller", user=CONTROLLER_USER)
HOLLOW = PartIdentity(file_name="hollow-nodes", user=HOLLOW_USER, groups=(KUBELETS, NODES))
"""All of them are one process with one connection, which no single node's user could be."""


def provisioner(driver: str) -> PartIdentity:
    short = driver.partition(".")[0]
    return PartIdentity(
        file_name=f"provisioner-{short}",
        user=f"plimsoll:provisioner:{driver}",
        groups=(PROVISIONERS,),
    )


def node(name: str) -> PartIdentity:
    """As kubelet: the node authorizer knows it by its name and the group of kubelets."""
    return PartIdentity(file_name=name, user=f"system:node:{name}", groups=(KUBELETS, NODES))
