"""Where a provisioner's volumes can be: anywhere in the cluster, or on its own node alone."""

from collections.abc import Iterable
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectMeta
from plimsoll.api.storage import CSINode, CSINodeDriver, CSINodeSpec
from plimsoll.decide.provisioning.settings import NodeDeployment, ProvisionerSettings
from plimsoll.decide.provisioning.view import Places


@dataclass(frozen=True, slots=True)
class OwnNode:
    """A provisioner on a node knows that node from its driver and watches no others."""

    deployment: NodeDeployment
    driver: str

    def node(self, name: str) -> Node | None:
        return next((node for node in self.nodes() if node.name == name), None)

    def nodes(self) -> Iterable[Node]:
        labels = self.deployment.segment or {}
        return (Node(metadata=ObjectMeta(name=self.deployment.node_name, labels=labels)),)

    def csi_node(self, name: str) -> CSINode | None:
        return next((node for node in self.csi_nodes() if node.name == name), None)

    def csi_nodes(self) -> Iterable[CSINode]:
        deployment = self.deployment
        driver = CSINodeDriver(
            name=self.driver,
            node_id=deployment.node_id,
            topology_keys=tuple(sorted(deployment.segment or {})),
        )
        metadata = ObjectMeta(name=deployment.node_name)
        return (CSINode(metadata=metadata, spec=CSINodeSpec(drivers=(driver,))),)


def places_of(settings: ProvisionerSettings, cluster: Places) -> Places:
    if settings.node is None:
        return cluster
    return OwnNode(settings.node, settings.driver)
