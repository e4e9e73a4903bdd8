from dataclasses import replace
from datetime import timedelta

import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.provisioning.calls import CallFailed, CapacityReport, Code
from plimsoll.decide.provisioning.claims import decide_claim
from plimsoll.decide.provisioning.node_deployment import (
    TakeOver,
    after_lost_race,
    decide_candidacy,
    race_delay,
)
from plimsoll.decide.provisioning.settings import DriverCapability, NodeDeployment, ProvisionerMode
from plimsoll.decide.provisioning.steps import (
    NOTHING_KNOWN,
    Compete,
    Ignore,
    IgnoreReason,
    ProvisioningRecord,
)
from tests.builders import ZONE
from tests.decide.provisioning.builders import (
    CLAIM,
    GIB,
    ON_NODE,
    a_claim_document,
    a_class_document,
    a_world,
    annotate,
    claim_in,
)
from tests.decide.provisioning.world import End, World

NODE = NodeDeployment(
    node_name="node-1",
    segment={ZONE: "a"},
    first_delay=timedelta(seconds=20),
    longest_delay=timedelta(seconds=60),
)


def unclaimed(capacity: int = GIB, **class_: object) -> World:
    """A claim that waits for no pod, and for which no node was selected."""
    world = a_world(
        settings=replace(ON_NODE, node=NODE),
        class_=a_class_document(**{"volumeBindingMode": "Immediate"} | class_),
        claim=annotate(a_claim_document(), selected_node=None),
    )
    world.driver.capacity = CapacityReport(capacity)
    return world


def selected(world: World) -> str | None:
    node: str | None = claim_in(world)["metadata"]["annotations"].get(SELECTED_NODE)
    return node


def ignored(end: End) -> IgnoreReason:
    assert isinstance(end, Ignore), end
    return end.reason


def test_a_node_with_capacity_selects_itself_and_then_provisions() -> None:
    world = unclaimed()

    world.provision(CLAIM)

    assert selected(world) == "node-1"
    assert world.driver.created == []
    assert isinstance(world.provision(CLAIM), ProvisioningRecord)


def test_the_driver_is_asked_about_the_nodes_segment_and_this_volume() -> None:
    world = unclaimed(parameters={"pool": "fast", "csi.storage.k8s.io/fstype": "xfs"})

    world.provision(CLAIM)

    (asked,) = world.driver.asked
    assert (asked.segment, asked.parameters) == ({ZONE: "a"}, {"pool": "fast"})
    assert len(asked.capabilities) == 1


def test_a_node_without_capacity_stands_back_without_a_word() -> None:
    world = unclaimed(capacity=GIB - 1)

    end = world.provision(CLAIM)

    assert ignored(end) is IgnoreReason.NO_ROOM_HERE
    assert isinstance(end, Ignore)
    assert end.recheck_after == NODE.longest_delay
    assert (selected(world), world.events) == (None, [])


def test_csi_provisioner_looks_again_only_when_something_changes() -> None:
    world = unclaimed(capacity=0)
    world.settings = replace(world.settings, mode=ProvisionerMode.COMPATIBLE)

    end = world.provision(CLAIM)

    assert isinstance(end, Ignore)
    assert end.recheck_after is None


def test_a_driver_that_cannot_tell_its_capacity_is_given_the_claim() -> None:
    world = unclaimed()
    world.driver.capacity = CallFailed(Code.UNIMPLEMENTED)

    world.provision(CLAIM)

    assert selected(world) == "node-1"


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"selector": {"matchLabels": {}}}, id="selector"),
        pytest.param({"dataSource": {"kind": "Hello", "name": "x"}}, id="populator"),
        pytest.param({"resources": {"requests": {"storage": "0"}}}, id="nothing-asked-for"),
    ],
)
def test_a_claim_with_a_problem_is_taken_so_that_one_provisioner_tells_of_it(
    spec: Document,
) -> None:
    world = unclaimed(capacity=0)
    claim_in(world)["spec"] |= spec

    world.provision(CLAIM)

    assert selected(world) == "node-1"
    assert world.driver.asked == []


def test_a_secret_that_cannot_be_read_is_no_reason_to_stand_back() -> None:
    parameters = {
        "csi.storage.k8s.io/provisioner-secret-name": "missing",
        "csi.storage.k8s.io/provisioner-secret-namespace": "vault",
    }
    world = unclaimed(capacity=0, parameters=parameters)

    world.provision(CLAIM)

    assert selected(world) == "node-1"


def test_a_driver_without_topology_is_asked_without_a_segment() -> None:
    world = unclaimed()
    plugin = frozenset({DriverCapability.CONTROLLER_SERVICE})
    world.settings = replace(world.settings, plugin_capabilities=plugin)

    world.provision(CLAIM)

    assert [asked.segment for asked in world.driver.asked] == [None]
    assert selected(world) == "node-1"


def test_one_segment_with_capacity_is_enough() -> None:
    labels = [{"key": ZONE, "values": ["b", "a"]}]
    world = unclaimed(capacity=0, allowedTopologies=[{"matchLabelExpressions": labels}])

    world.provision(CLAIM)

    assert [asked.segment for asked in world.driver.asked] == [{ZONE: "a"}, {ZONE: "b"}]


def test_a_class_that_excludes_the_node_is_left_to_others() -> None:
    labels = [{"key": ZONE, "values": ["b"]}]
    world = unclaimed(allowedTopologies=[{"matchLabelExpressions": labels}])

    assert ignored(world.provision(CLAIM)) is IgnoreReason.NOT_ALLOWED_HERE


@pytest.mark.parametrize("mode", ["WaitForFirstConsumer", None])
def test_a_claim_that_waits_for_a_pod_is_not_competed_for(mode: str | None) -> None:
    assert (
        ignored(unclaimed(volumeBindingMode=mode).provision(CLAIM)) is IgnoreReason.NO_NODE_SELECTED
    )


def test_competing_can_be_switched_off() -> None:
    world = unclaimed()
    world.settings = replace(world.settings, node=replace(NODE, takes_immediate_claims=False))

    assert ignored(world.provision(CLAIM)) is IgnoreReason.NO_NODE_SELECTED


def test_a_driver_that_has_no_capacity_after_all_opens_the_race_again() -> None:
    world = unclaimed()
    world.provision(CLAIM)
    world.driver.create = CallFailed(Code.RESOURCE_EXHAUSTED)

    world.provision(CLAIM)

    assert selected(world) is None


def competing(world: World) -> Compete:
    step = decide_claim(world.claim(CLAIM), NOTHING_KNOWN, world.context)
    assert isinstance(step, Compete)
    return step


@pytest.mark.parametrize(
    ("node", "reason"), [("node-2", IgnoreReason.OTHER_NODE), ("node-1", IgnoreReason.OURS_ALREADY)]
)
def test_who_waited_too_long_sees_who_was_faster(node: str, reason: IgnoreReason) -> None:
    world = unclaimed()
    compete = after_lost_race(competing(world))
    annotate(claim_in(world), selected_node=node)

    end = decide_candidacy(compete, world.claim(CLAIM), world.context)

    assert end == Ignore(reason=reason)


def test_a_claim_that_went_away_or_was_replaced_is_not_taken() -> None:
    world = unclaimed()
    compete = competing(world)
    claim_in(world)["metadata"]["uid"] = "another"

    for claim in (None, world.claim(CLAIM)):
        end = decide_candidacy(compete, claim, world.context)
        assert end == Ignore(reason=IgnoreReason.GONE)


def test_a_claim_is_taken_only_as_it_was_seen() -> None:
    world = unclaimed()
    claim_in(world)["spec"]["resources"] = {}

    end = decide_candidacy(competing(world), world.claim(CLAIM), world.context)

    assert isinstance(end, TakeOver)
    (patch,) = end.plan.writes
    assert getattr(patch, "version", None) == "7"


def test_who_loses_waits_longer() -> None:
    compete = competing(unclaimed())

    lost = after_lost_race(after_lost_race(compete))

    assert lost.memory.lost_races == 2
    assert race_delay(NODE, 0, 0.0) == timedelta(seconds=20)
    assert race_delay(NODE, 1, 0.5) == timedelta(seconds=30)
    assert race_delay(NODE, 2, 0.0) == timedelta(seconds=60)
    assert race_delay(NODE, 0, 1.0) == timedelta()
