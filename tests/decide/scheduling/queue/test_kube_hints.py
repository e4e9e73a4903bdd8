"""Which rule looks at which event; the oracle asks about the answers."""

from plimsoll.decide.scheduling.flags import NodeRule
from plimsoll.decide.scheduling.queue.events import ClusterEvent
from plimsoll.decide.scheduling.queue.kube_hints import QueueRule, registered_for


def test_every_rule_about_nodes_looks_at_a_node_that_comes() -> None:
    # Resource claims are refused whatever the nodes are like.
    looking = set(NodeRule) - {NodeRule.DYNAMIC_RESOURCES}

    assert set(registered_for(ClusterEvent.NODE_ADDED)) == looking


def test_no_plugin_looks_at_annotations_and_conditions_of_nodes() -> None:
    assert not registered_for(ClusterEvent.NODE_ANNOTATIONS)
    assert not registered_for(ClusterEvent.NODE_CONDITIONS)


def test_only_gates_look_at_gates() -> None:
    assert set(registered_for(ClusterEvent.OWN_GATES)) == {QueueRule.GATES}
