from dataclasses import replace

from plimsoll.decide.provisioning.settings import NodeDeployment
from plimsoll.decide.provisioning.topology.places import OwnNode, places_of
from tests.builders import DRIVER, ZONE
from tests.decide.provisioning.builders import ON_NODE, SETTINGS, a_world


def test_a_provisioner_on_a_node_sees_no_other_node() -> None:
    places = places_of(ON_NODE, a_world())

    assert [node.name for node in places.nodes()] == ["node-1"]
    assert places.node("node-2") is None
    assert places.csi_node("node-2") is None


def test_its_node_is_where_the_driver_says() -> None:
    places = OwnNode(NodeDeployment(node_name="node-1", segment={ZONE: "a"}), DRIVER)
    node, csi_node = places.node("node-1"), places.csi_node("node-1")

    assert node is not None
    assert node.labels == {ZONE: "a"}
    assert csi_node is not None
    driver = csi_node.find_driver(DRIVER)
    assert driver is not None
    assert driver.topology_keys == (ZONE,)


def test_a_central_provisioner_sees_the_cluster() -> None:
    world = a_world()

    assert places_of(replace(SETTINGS, node=None), world) is world
