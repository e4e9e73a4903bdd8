from plimsoll.api.meta import ObjectMeta
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.provisioning.topology.selected_node import (
    ALPHA_SELECTED_NODE,
    selected_node_of,
)


def selected(**annotations: str) -> str:
    names = {"new": SELECTED_NODE, "old": ALPHA_SELECTED_NODE}
    found = {names[name]: node for name, node in annotations.items()}
    return selected_node_of(PersistentVolumeClaim(metadata=ObjectMeta(annotations=found)))


def test_the_older_annotation_counts_where_the_newer_one_is_missing() -> None:
    assert selected() == ""
    assert selected(old="node-1") == "node-1"
    assert selected(old="node-1", new="node-2") == "node-2"
    assert selected(old="node-1", new="") == ""
