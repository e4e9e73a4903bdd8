from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from plimsoll.api.core import Node
from plimsoll.api.meta import Condition
from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.node_object import (
    Machine,
    is_current,
    lease_spec,
    missing_metadata,
    new_lease,
    new_node,
    new_status,
    renewal_period,
    with_both_names,
)
from tests.builders import a_node, meta

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
ROOM = {"cpu": "8", "memory": "32Gi", "pods": "110"}
MACHINE = Machine(name="node-1", labels={"rack": "r1"}, capacity=ROOM)
TODAY, OF_OLD = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
DISK = Device("disk.example.com", "a")


def test_a_new_node_carries_its_labels_and_says_that_it_runs_no_containers() -> None:
    made = new_node(MACHINE)["metadata"]
    assert made["labels"] == {
        "kubernetes.io/hostname": "node-1",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "rack": "r1",
    }
    assert made["annotations"] == {
        "plimsoll.dev/runs-containers": "false",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    }


@pytest.mark.parametrize(
    ("given", "carried"),
    [
        pytest.param({TODAY: "a"}, {TODAY: "a", OF_OLD: "a"}, id="today"),
        pytest.param({OF_OLD: "a"}, {TODAY: "a", OF_OLD: "a"}, id="of-old"),
        pytest.param({TODAY: "a", OF_OLD: "b"}, {TODAY: "a", OF_OLD: "b"}, id="both-as-given"),
        pytest.param({"rack": "1"}, {"rack": "1"}, id="other-labels"),
    ],
)
def test_a_node_says_its_zone_under_both_names(
    given: dict[str, str], carried: dict[str, str]
) -> None:
    assert with_both_names(given) == carried


def test_an_adopted_node_keeps_what_others_wrote() -> None:
    made = new_node(MACHINE)["metadata"]
    labels = made["labels"] | {"owner": "storage-team", "rack": "r2"}
    node = Node(metadata=msgspec.structs.replace(meta("node-1"), labels=labels))
    assert missing_metadata(MACHINE, node) == {
        "labels": {"rack": "r1"},
        "annotations": made["annotations"],
    }
    adopted = msgspec.structs.replace(
        node.metadata, labels=labels | {"rack": "r1"}, annotations=made["annotations"]
    )
    assert missing_metadata(MACHINE, Node(metadata=adopted)) == {}


def test_a_status_is_current_until_something_in_it_changes() -> None:
    node = a_node()
    assert is_current(MACHINE, node, [], is_ready=True)
    assert not is_current(MACHINE, node, [DISK], is_ready=True)
    assert not is_current(Machine(name="node-1", capacity={"cpu": "4"}), node, [], is_ready=True)
    silent = msgspec.structs.replace(
        node.status, conditions=(Condition(type="Ready", status="Unknown"),)
    )
    assert not is_current(MACHINE, msgspec.structs.replace(node, status=silent), [], is_ready=True)


def test_a_status_keeps_the_time_since_which_the_node_is_ready() -> None:
    node = a_node()
    since = Condition(type="Ready", status="True", last_transition_time=NOW - timedelta(hours=1))
    status = msgspec.structs.replace(node.status, conditions=(since,))
    told = new_status(
        MACHINE, msgspec.structs.replace(node, status=status), [DISK], NOW, is_ready=True
    )
    ready = next(c for c in told["conditions"] if c["type"] == "Ready")
    assert ready["lastTransitionTime"] == "2024-05-01T11:00:00Z"
    assert ready["lastHeartbeatTime"] == "2024-05-01T12:00:00Z"
    assert told["volumesInUse"] == ["kubernetes.io/csi/disk.example.com^a"]
    assert new_status(MACHINE, node, [], NOW, is_ready=True)["volumesInUse"] is None


def test_a_lease_belongs_to_its_node() -> None:
    lease = new_lease(a_node(), NOW)
    assert lease["metadata"]["namespace"] == "kube-node-lease"
    assert lease["metadata"]["ownerReferences"][0]["uid"] == "uid-node-1"
    assert lease["spec"] == lease_spec("node-1", NOW)
    assert lease["spec"]["renewTime"] == "2024-05-01T12:00:00.000000Z"


@pytest.mark.parametrize(
    ("wanted", "nodes", "period"),
    [
        pytest.param(10, 1, 10, id="one-node"),
        pytest.param(10, 300, 10, id="some-nodes"),
        pytest.param(10, 800, 16, id="many-nodes"),
        pytest.param(10, 5000, 20, id="twice-in-the-time-of-a-lease-at-least"),
        pytest.param(30, 5000, 30, id="never-more-often-than-wanted"),
    ],
)
def test_many_nodes_of_one_process_renew_their_leases_less_often(
    wanted: int, nodes: int, period: int
) -> None:
    assert renewal_period(timedelta(seconds=wanted), nodes) == timedelta(seconds=period)
