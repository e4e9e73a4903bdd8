"""Where a volume has to be: three nodes in zones a, b and c, unless a test says otherwise."""

from collections.abc import Iterable, Mapping

import pytest

from plimsoll.api.core import Node
from plimsoll.api.selectors.topology import TopologyLabelSpec, TopologyTermSpec
from plimsoll.api.storage import CSINode
from plimsoll.decide.provisioning.topology.requirement import (
    NO_TOPOLOGY,
    Located,
    NotLocated,
    TopologyMemory,
    TopologyProblem,
    TopologyRequest,
    locate,
)
from tests.builders import DRIVER, ZONE, a_csi_node, a_node

RACK = "example.org/rack"


class Cluster:
    def __init__(self, nodes: Iterable[Node], csi_nodes: Iterable[CSINode]) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._csi_nodes = {node.name: node for node in csi_nodes}

    def node(self, name: str) -> Node | None:
        return self._nodes.get(name)

    def nodes(self) -> list[Node]:
        return list(self._nodes.values())

    def csi_node(self, name: str) -> CSINode | None:
        return self._csi_nodes.get(name)

    def csi_nodes(self) -> list[CSINode]:
        return list(self._csi_nodes.values())


def cluster(zones: Mapping[str, str] | None = None, keys: Iterable[str] = (ZONE,)) -> Cluster:
    zones = zones or {"node-c": "c", "node-a": "a", "node-b": "b"}
    return Cluster(
        [a_node(name, labels={ZONE: zone}) for name, zone in zones.items()],
        [a_csi_node(name, topology_keys=keys) for name in zones],
    )


def requested(
    node: str = "", *, zones: Iterable[str] = (), strict: bool = False, at_once: bool = True
) -> TopologyRequest:
    labels = TopologyLabelSpec(key=ZONE, values=tuple(zones))
    allowed = (TopologyTermSpec(match_label_expressions=(labels,)),) if labels.values else ()
    return TopologyRequest(
        driver=DRIVER,
        claim_name="data-web-0",
        allowed=allowed,
        selected_node=node,
        is_strict=strict,
        is_told_at_once=at_once,
    )


def zones_of(found: Located | NotLocated) -> tuple[str, str] | None:
    """Requisite and preferred zones, each as one word."""
    assert isinstance(found, Located), found
    requirement = found.requirement
    if requirement is None:
        return None
    return (
        "".join(segment[ZONE] for segment in requirement.requisite),
        "".join(segment[ZONE] for segment in requirement.preferred),
    )


def problem(found: Located | NotLocated) -> TopologyProblem:
    assert isinstance(found, NotLocated), found
    return found.problem


def test_a_selected_node_comes_first_and_the_others_follow() -> None:
    assert zones_of(locate(requested("node-b"), cluster(), NO_TOPOLOGY)) == ("abc", "bca")


def test_a_strict_driver_hears_of_the_selected_node_alone() -> None:
    assert zones_of(locate(requested("node-b", strict=True), cluster(), NO_TOPOLOGY)) == ("b", "b")


def test_allowed_topologies_limit_where_the_volume_may_be() -> None:
    found = locate(requested("node-b", zones=["b", "a"]), cluster(), NO_TOPOLOGY)

    assert zones_of(found) == ("ab", "ba")


@pytest.mark.parametrize(
    ("strict", "expected"),
    [
        (True, TopologyProblem.NODE_NOT_ALLOWED),
        (False, TopologyProblem.NODE_NOT_REQUISITE),
    ],
)
def test_a_node_outside_of_the_allowed_topologies_is_refused(
    *, strict: bool, expected: TopologyProblem
) -> None:
    found = locate(requested("node-c", zones=["a"], strict=strict), cluster(), NO_TOPOLOGY)

    assert problem(found) is expected


def test_without_a_selected_node_the_claims_name_decides_where_to_begin() -> None:
    requisite, preferred = zones_of(locate(requested(), cluster(), NO_TOPOLOGY)) or ("", "")

    assert requisite == "abc"
    assert preferred in ("abc", "bca", "cab")


def test_a_driver_that_asked_not_to_be_told_decides_itself() -> None:
    assert zones_of(locate(requested(at_once=False), cluster(), NO_TOPOLOGY)) is None
    limited = locate(requested(at_once=False, zones=["b"]), cluster(), NO_TOPOLOGY)
    assert zones_of(limited) == ("b", "b")


def test_nodes_without_the_driver_count_if_they_have_the_labels() -> None:
    places = Cluster(
        [a_node("node-a", labels={ZONE: "a"}), a_node("node-z", labels={ZONE: "z"})],
        [a_csi_node("node-a")],
    )

    assert zones_of(locate(requested("node-a"), places, NO_TOPOLOGY)) == ("az", "az")


def test_a_selected_node_that_the_driver_does_not_know_asks_for_another() -> None:
    found = locate(requested("node-x"), cluster(), NO_TOPOLOGY)

    assert problem(found) is TopologyProblem.CSI_NODE_NOT_FOUND


def test_a_selected_node_where_the_driver_has_no_keys_is_waited_for() -> None:
    places = Cluster([a_node("node-a")], [a_csi_node("node-a", driver="other")])

    assert (
        problem(locate(requested("node-a"), places, NO_TOPOLOGY)) is TopologyProblem.NO_KEYS_ON_NODE
    )


@pytest.mark.parametrize("nodes", [[], [a_node("node-a")]], ids=["no-node", "no-label"])
def test_a_selected_node_without_the_labels_is_waited_for(nodes: list[Node]) -> None:
    places = Cluster(nodes, [a_csi_node("node-a")])

    assert (
        problem(locate(requested("node-a"), places, NO_TOPOLOGY)) is TopologyProblem.LABELS_MISSING
    )


def test_a_driver_without_keys_anywhere_is_waited_for() -> None:
    found = locate(requested(), cluster(keys=()), NO_TOPOLOGY)

    assert problem(found) is TopologyProblem.NO_TOPOLOGY


def test_keys_that_no_node_has_are_waited_for() -> None:
    found = locate(requested(), cluster(keys=(RACK,)), NO_TOPOLOGY)

    assert problem(found) is TopologyProblem.KEYS_ON_NO_NODE


def test_a_key_that_cannot_be_a_label_is_told() -> None:
    found = locate(requested(), cluster(keys=("not a key",)), NO_TOPOLOGY)

    assert problem(found) is TopologyProblem.INVALID_KEY


def test_a_call_is_repeated_with_the_same_places_although_labels_changed() -> None:
    first = locate(requested("node-b"), cluster(), NO_TOPOLOGY)
    moved = cluster({"node-b": "x", "node-y": "y"})

    assert zones_of(locate(requested("node-b"), moved, first.memory)) == ("abc", "bca")
    assert zones_of(locate(requested("node-b"), moved, NO_TOPOLOGY)) == ("xy", "xy")


def test_labels_are_read_again_when_a_remembered_node_lacks_a_key() -> None:
    memory = TopologyMemory(keys=(ZONE,), labels={"os": "linux"})

    assert zones_of(locate(requested("node-a", strict=True), cluster(), memory)) == ("a", "a")


def test_the_same_cluster_gives_the_same_keys_every_time() -> None:
    places = Cluster(
        [a_node("node-a", labels={ZONE: "a", RACK: "r"})],
        [a_csi_node("node-b"), a_csi_node("node-a", topology_keys=(RACK,))],
    )

    found = locate(requested(), places, NO_TOPOLOGY)

    assert found.memory.keys == (RACK,)
