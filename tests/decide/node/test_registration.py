import msgspec
import pytest

from plimsoll.api.core import Node
from plimsoll.api.storage import CSINode, CSINodeDriver, CSINodeSpec
from plimsoll.decide.node.registration import (
    CSI_NODES,
    DriverOnNode,
    decide_registration,
    decide_unregistration,
    plugin_complaint,
    topology_complaint,
)
from plimsoll.decide.plan import NOTHING, Create, Patch
from plimsoll.decide.resources import NODES
from tests.builders import a_node, meta

DRIVER = DriverOnNode(
    name="disk.example.com", node_id="n1", topology={"zone": "a", "rack": "r1"}, volume_limit=3
)
ENTRY = {
    "name": "disk.example.com",
    "nodeID": "n1",
    "topologyKeys": ["rack", "zone"],
    "allocatable": {"count": 3},
}
IDS = "csi.volume.kubernetes.io/nodeid"


def with_drivers(*drivers: CSINodeDriver) -> CSINode:
    return CSINode(metadata=meta("node-1"), spec=CSINodeSpec(drivers=drivers))


@pytest.mark.parametrize(
    ("type_", "name", "versions", "complains_about"),
    [
        pytest.param("CSIPlugin", "x", ("1.0.0",), "", id="usual"),
        pytest.param("CSIPlugin", "x", ("0.3.0", "v1.11"), "", id="one-is-enough"),
        pytest.param("CSIPlugin", "x", ("0.3.0", "2.0.0"), "0.3.0, 2.0.0", id="none-supported"),
        pytest.param("CSIPlugin", "x", ("10.0.0",), "10.0.0", id="ten-is-not-one"),
        pytest.param("CSIPlugin", "", ("1.0.0",), "no name", id="nameless"),
        pytest.param("DevicePlugin", "x", ("1.0.0",), "DevicePlugin", id="other-type"),
    ],
)
def test_only_plugins_that_speak_csi_one_are_taken(
    type_: str, name: str, versions: tuple[str, ...], complains_about: str
) -> None:
    complaint = plugin_complaint(type_, name, versions)
    assert bool(complaint) == bool(complains_about)
    assert complains_about in complaint


def test_the_first_driver_makes_the_csi_node_after_the_labels() -> None:
    node = a_node(labels={"zone": "a"})
    plan = decide_registration(DRIVER, node, None)
    labels, made = plan.writes
    assert isinstance(labels, Patch)
    assert labels.resource == NODES
    assert labels.patch["metadata"]["labels"] == {"rack": "r1"}
    assert labels.patch["metadata"]["annotations"] == {IDS: '{"disk.example.com":"n1"}'}
    assert isinstance(made, Create)
    assert made.resource == CSI_NODES
    assert made.document["spec"]["drivers"] == [ENTRY]
    assert made.document["metadata"]["ownerReferences"][0]["uid"] == node.uid


def registered() -> tuple[Node, CSINode]:
    node = a_node(labels=dict(DRIVER.topology))
    metadata = msgspec.structs.replace(
        node.metadata, annotations={IDS: '{"disk.example.com":"n1"}'}
    )
    entry = msgspec.convert(ENTRY, CSINodeDriver)
    return msgspec.structs.replace(node, metadata=metadata), with_drivers(entry)


def test_a_driver_that_is_registered_already_changes_nothing() -> None:
    node, csi_node = registered()
    assert decide_registration(DRIVER, node, csi_node) == NOTHING


def test_a_changed_entry_is_taken_away_and_put_back() -> None:
    node, csi_node = registered()
    moved = msgspec.convert({**ENTRY, "name": "other.example.com"}, CSINodeDriver)
    both = with_drivers(moved, *(csi_node.spec.drivers or ()))
    again = DriverOnNode(name=DRIVER.name, node_id="n2", topology=DRIVER.topology)
    plan = decide_registration(again, node, both)
    _, without, with_ = plan.writes
    assert isinstance(without, Patch)
    assert [d["name"] for d in without.patch["spec"]["drivers"]] == ["other.example.com"]
    assert isinstance(with_, Patch)
    assert with_.patch["spec"]["drivers"][1] == {
        "name": "disk.example.com",
        "nodeID": "n2",
        "topologyKeys": ["rack", "zone"],
    }


def test_labels_that_contradict_the_driver_are_not_changed() -> None:
    assert topology_complaint(DRIVER, a_node()) == ""
    assert topology_complaint(DRIVER, a_node(labels={"zone": "a"})) == ""
    complaint = topology_complaint(DRIVER, a_node(labels={"zone": "b"}))
    assert '"zone":"a" but existing label is "zone":"b"' in complaint
    assert "no node id" in topology_complaint(DriverOnNode(name="x", node_id=""), a_node())


def test_a_driver_that_goes_takes_its_entry_but_not_its_labels() -> None:
    node, csi_node = registered()
    plan = decide_unregistration(DRIVER.name, node, csi_node)
    entry, ids = plan.writes
    assert isinstance(entry, Patch)
    assert entry.patch == {"spec": {"drivers": []}}
    assert isinstance(ids, Patch)
    assert ids.patch == {"metadata": {"annotations": {IDS: None}}}
    assert decide_unregistration("unknown", node, csi_node) == NOTHING
    assert decide_unregistration(DRIVER.name, None, None) == NOTHING
