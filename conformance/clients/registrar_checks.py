"""The real node-driver-registrar between our driver and our node.

It learns the driver's name from the driver's socket, and puts a socket of its own where a kubelet
looks for such. The node has to find that one, ask it, and write what the driver says of the node
into CSINode and into the labels of the Node.
"""

from collections.abc import Callable
from pathlib import Path

import uvloop

from conformance import peers
from conformance.cluster_stories import Place, place
from conformance.csi_checks import OUR_POOLS, a_driver
from conformance.csi_drivers import Driver, segments
from conformance.csi_node import REGISTRY, node_driver_registrar, our_node
from conformance.csi_stories import CSI_NODES, NODES
from plimsoll.api.registry import Document

Say = Callable[[str], None]


def run(kubeconfig: Path, say: Say) -> None:
    """Raises AssertionError when the driver is not registered, or stays so without its socket."""
    peers.find(peers.NODE_DRIVER_REGISTRAR)
    with a_driver(OUR_POOLS) as driver, our_node(kubeconfig, driver) as directory:
        registry = directory / REGISTRY
        say("the driver is registered through the registrar's socket")
        with node_driver_registrar(driver, registry):
            uvloop.run(_registered(kubeconfig, driver))
            assert _sockets(registry), "the registrar has no socket there"
        say("after a restart of the registrar the driver is still registered")
        with node_driver_registrar(driver, registry):
            uvloop.run(_registered(kubeconfig, driver))


def _sockets(registry: Path) -> list[str]:
    return [each.name for each in registry.iterdir() if each.is_socket()]


async def _registered(kubeconfig: Path, driver: Driver) -> None:
    reach = await segments(driver)
    async with place(kubeconfig) as at:

        async def is_registered() -> bool:
            return bool(await _entries(at, driver))

        await at.seen(f"{driver.name} in the CSINode {driver.node}", is_registered)
        [entry] = await _entries(at, driver)
        assert entry["nodeID"] == driver.node, entry
        assert sorted(entry["topologyKeys"]) == sorted(reach), entry
        node = await at.find(NODES, driver.node)
        assert node is not None, f"there is no node {driver.node}"
        assert reach.items() <= node["metadata"]["labels"].items(), node["metadata"]["labels"]


async def _entries(at: Place, driver: Driver) -> list[Document]:
    node = await at.find(CSI_NODES, driver.node)
    drivers: list[Document] = (node or {}).get("spec", {}).get("drivers") or []
    return [each for each in drivers if each["name"] == driver.name]
