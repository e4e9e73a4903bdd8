"""The table of node types for which capacity is published before a node exists.

- name: storage-large
  labels: {node.kubernetes.io/instance-type: storage-large}
  capacity:
    fast: {available: 500Gi, maximumVolumeSize: 500Gi}
"""

from pathlib import Path

import msgspec
import yaml

from plimsoll.api.quantity import parse_quantity
from plimsoll.decide.capacity.reports import CapacityAnswer
from plimsoll.decide.capacity.templates import NodeType
from plimsoll.runtime.config import ConfigError


class _Capacity(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    available: str
    maximum_volume_size: str | None = None


class _Type(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    labels: dict[str, str]
    capacity: dict[str, _Capacity]


def load_node_types(path: str) -> tuple[NodeType, ...]:
    """Raises ConfigError; no path, no types."""
    if not path:
        return ()
    try:
        content = yaml.safe_load(Path(path).read_text())
        listed = msgspec.convert(content, list[_Type])
        return tuple(_node_type(each) for each in listed)
    except OSError as error:
        problem = error.strerror or str(error)
        raise ConfigError(f"--capacity-node-types: {path} cannot be read: {problem}") from error
    except (yaml.YAMLError, msgspec.ValidationError, ValueError) as error:
        raise ConfigError(f"--capacity-node-types: {path}: {error}") from error


def _node_type(listed: _Type) -> NodeType:
    capacity = {name: _answer(each) for name, each in listed.capacity.items()}
    return NodeType(name=listed.name, labels=listed.labels, capacity=capacity)


def _answer(capacity: _Capacity) -> CapacityAnswer:
    largest = capacity.maximum_volume_size
    return CapacityAnswer(_bytes(capacity.available), None if largest is None else _bytes(largest))


def _bytes(text: str) -> int:
    try:
        return parse_quantity(text).value
    except ValueError as error:
        raise ValueError(f"{text!r} is not a size; write it like 500Gi") from error
