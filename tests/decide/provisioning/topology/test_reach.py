import pytest

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectMeta
from plimsoll.decide.provisioning.calls import Segment
from plimsoll.decide.provisioning.topology.reach import is_reachable

A, B = {"zone": "a"}, {"zone": "b"}
NODE = Node(metadata=ObjectMeta(name="node-1", labels={"zone": "a", "rack": "1"}))


@pytest.mark.parametrize(
    ("segments", "node", "expected"),
    [
        pytest.param((A,), NODE, True, id="its-zone"),
        pytest.param((B,), NODE, False, id="another-zone"),
        pytest.param((B, A), NODE, True, id="one-of-two-zones"),
        pytest.param(({"zone": "a", "rack": "2"},), NODE, False, id="another-rack"),
        pytest.param((), NODE, True, id="no-segments"),
        pytest.param(({},), NODE, True, id="empty-segment"),
        pytest.param((A,), None, False, id="unknown-node"),
        pytest.param((), None, True, id="unknown-node-and-no-segments"),
    ],
)
def test_a_node_reaches_a_volume_in_one_of_its_segments(
    segments: tuple[Segment, ...], node: Node | None, *, expected: bool
) -> None:
    assert is_reachable(segments, node) is expected
