"""The table of node types is read, and what is wrong with it is said."""

from pathlib import Path

import pytest

from plimsoll.decide.capacity.reports import CapacityAnswer
from plimsoll.decide.capacity.templates import NodeType
from plimsoll.processes.provisioner.capacity.node_types import load_node_types
from plimsoll.runtime.config import ConfigError

GIB = 2**30


def test_without_a_file_there_are_no_types() -> None:
    assert load_node_types("") == ()


def test_sizes_are_read_by_class(tmp_path: Path) -> None:
    table = tmp_path / "types.yaml"
    table.write_text(
        """
- name: large
  labels: {instance-type: large}
  capacity:
    fast: {available: 500Gi, maximumVolumeSize: 400Gi}
    slow: {available: 2Gi}
"""
    )
    room = {"fast": CapacityAnswer(500 * GIB, 400 * GIB), "slow": CapacityAnswer(2 * GIB)}
    large = NodeType(name="large", labels={"instance-type": "large"}, capacity=room)
    assert load_node_types(str(table)) == (large,)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- {name: a, labels: {}, capacity: {fast: {available: lots}}}", "lots"),
        ("- {name: a, capacity: {}}", "labels"),
        ("- {name: a, labels: {}, capacity: {}, colour: red}", "colour"),
        ("large: {}", "array"),
        ("- [", "expected"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    table = tmp_path / "types.yaml"
    table.write_text(text)
    with pytest.raises(ConfigError, match=complaint):
        load_node_types(str(table))


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match="/nowhere cannot be read"):
        load_node_types("/nowhere")
