from dataclasses import replace
from datetime import timedelta

import pytest

from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.plan import Emit, EventType
from plimsoll.decide.provisioning.calls import CallFailed, Code, Deleted, FromSnapshot
from plimsoll.decide.provisioning.failures import Problem, ProvisioningState
from plimsoll.decide.provisioning.outcomes import after_unsaved
from plimsoll.decide.provisioning.request.sources import SNAPSHOT_PROTECTION
from plimsoll.decide.provisioning.settings import (
    DriverCapability,
    ProvisionerMode,
    ProvisionerSettings,
)
from plimsoll.decide.provisioning.steps import (
    NOTHING_KNOWN,
    Delay,
    Ignore,
    ProvisioningRecord,
    Refuse,
    Reschedule,
)
from plimsoll.decide.provisioning.topology.requirement import NO_TOPOLOGY
from tests.builders import CLASS, ZONE
from tests.decide.provisioning.builders import (
    CLAIM,
    GIB,
    MADE,
    NAME,
    ONLY_A,
    SETTINGS,
    a_claim_document,
    a_class_document,
    a_world,
    annotate,
    claim_in,
    messages,
    reasons,
    volumes_in,
)
from tests.decide.provisioning.sources import (
    FROM_CLAIM,
    FROM_SNAPSHOT,
    a_source_world,
    snapshot_in,
)
from tests.decide.provisioning.world import CLAIMS, NOW, World

COMPATIBLE = replace(SETTINGS, mode=ProvisionerMode.COMPATIBLE)
FINAL = sorted(
    code
    for code in Code
    if not code.may_still_be_running
    and code not in (Code.RESOURCE_EXHAUSTED, Code.INVALID_ARGUMENT)
)


def answering(code: Code, world: World | None = None) -> World:
    world = world or a_world()
    world.driver.create = CallFailed(code, "no")
    return world


@pytest.mark.parametrize("code", FINAL)
def test_a_final_answer_ends_the_attempt(code: Code) -> None:
    world = answering(code)

    end = world.provision(CLAIM)

    assert isinstance(end, Refuse)
    assert (end.failure.problem, end.failure.state) == (
        Problem.DRIVER_REFUSED,
        ProvisioningState.FINISHED,
    )
    assert world.memory.in_progress is None
    assert world.memory.topology == NO_TOPOLOGY
    assert messages(world)[-1] == (
        f"Warning ProvisioningFailed: rpc error: code = {code} desc = no"
    )


@pytest.mark.parametrize("code", sorted(code for code in Code if code.may_still_be_running))
def test_an_answer_that_is_not_final_keeps_the_claim_in_mind(code: Code) -> None:
    world = answering(code)

    end = world.provision(CLAIM)

    assert isinstance(end, Refuse)
    assert end.failure.state is ProvisioningState.IN_BACKGROUND
    assert world.memory.in_progress == world.claim(CLAIM)
    assert world.memory.topology != NO_TOPOLOGY


def test_a_driver_without_capacity_gets_another_node() -> None:
    world = answering(Code.RESOURCE_EXHAUSTED)

    assert isinstance(world.provision(CLAIM), Reschedule)
    assert SELECTED_NODE not in claim_in(world)["metadata"]["annotations"]
    assert world.memory.topology == NO_TOPOLOGY


def test_without_a_selected_node_there_is_no_other_to_try() -> None:
    world = a_world(class_=a_class_document(volumeBindingMode="Immediate"))
    annotate(claim_in(world), selected_node=None)

    end = answering(Code.RESOURCE_EXHAUSTED, world).provision(CLAIM)

    assert isinstance(end, Refuse)
    assert end.failure.state is ProvisioningState.FINISHED


def test_without_topology_another_node_would_get_the_same_answer() -> None:
    plain = replace(SETTINGS, plugin_capabilities=frozenset({DriverCapability.CONTROLLER_SERVICE}))

    end = answering(Code.RESOURCE_EXHAUSTED, a_world(settings=plain)).provision(CLAIM)

    assert isinstance(end, Refuse)


def test_a_node_that_was_selected_meanwhile_is_not_taken_off() -> None:
    world = answering(Code.DEADLINE_EXCEEDED)
    world.provision(CLAIM)
    annotate(claim_in(world), selected_node="node-2")

    end = answering(Code.RESOURCE_EXHAUSTED, world).provision(CLAIM)

    assert isinstance(end, Refuse)
    assert world.memory.in_progress is None
    assert claim_in(world)["metadata"]["annotations"][SELECTED_NODE] == "node-2"


def test_a_claim_that_was_changed_meanwhile_is_asked_about_again() -> None:
    world = answering(Code.DEADLINE_EXCEEDED, a_world(settings=COMPATIBLE))
    world.provision(CLAIM)
    del world.documents[CLAIMS, CLAIM]

    end = answering(Code.RESOURCE_EXHAUSTED, world).provision(CLAIM)

    assert isinstance(end, Refuse), "the selected node could not be taken off"


def test_a_senseless_request_is_told_and_put_off() -> None:
    world = answering(Code.INVALID_ARGUMENT)

    end = world.provision(CLAIM)

    assert isinstance(end, Refuse)
    assert end.failure.problem is Problem.INFEASIBLE
    slow = world.memory.slow_retry
    assert slow is not None
    assert (slow.until, slow.class_uid) == (NOW + timedelta(minutes=5), "class-uid")
    assert "Retries will be delayed" in messages(world)[-1]


@pytest.mark.parametrize("size", [GIB - 1, -1], ids=["too-small", "negative"])
def test_a_volume_that_is_too_small_is_deleted_and_asked_for_again(size: int) -> None:
    world = a_world()
    world.driver.create = replace(MADE, capacity_bytes=size)

    end = world.provision(CLAIM)

    assert isinstance(end, Refuse)
    assert (end.failure.problem, end.failure.state) == (
        Problem.TOO_SMALL,
        ProvisioningState.IN_BACKGROUND,
    )
    assert len(world.driver.deleted) == 1
    assert volumes_in(world) == []
    world.driver.create = MADE
    assert isinstance(world.provision(CLAIM), ProvisioningRecord)


def test_a_flawed_volume_of_a_claim_that_is_gone_is_asked_about_no_more() -> None:
    world = answering(Code.UNAVAILABLE)
    world.provision(CLAIM)
    del world.documents[CLAIMS, CLAIM]
    world.driver.create = replace(MADE, capacity_bytes=1)

    assert isinstance(world.provision(CLAIM), Ignore)
    assert len(world.driver.deleted) == 1
    assert world.memory.in_progress is None


STRAY = replace(MADE, segments=({ZONE: "a"}, {ZONE: "b"}))


def straying(settings: ProvisionerSettings = SETTINGS) -> World:
    """A driver that makes volumes in two zones, for a class that allows one."""
    world = a_world(settings=settings, class_=a_class_document(allowedTopologies=ONLY_A))
    world.driver.create = STRAY
    return world


def test_a_volume_that_leaves_its_allowed_topologies_is_deleted_and_told() -> None:
    world = straying()

    end = world.provision(CLAIM)

    assert isinstance(end, Refuse)
    assert (end.failure.problem, end.failure.state) == (
        Problem.OUTSIDE_ALLOWED,
        ProvisioningState.FINISHED,
    )
    assert len(world.driver.deleted) == 1
    assert volumes_in(world) == []
    assert world.memory.in_progress is None
    assert messages(world)[-1] == (
        f"Warning ProvisioningFailed: the driver made volume {NAME} accessible from "
        f"[{ZONE}=a] [{ZONE}=b], but allowedTopologies of storage class {CLASS} "
        f"admit only [{ZONE} in (a)]; allow more, or change its parameters"
    )


def test_it_is_not_made_again_before_the_delay_for_senseless_requests_has_passed() -> None:
    world = straying()
    world.provision(CLAIM)
    world.now += timedelta(minutes=4)

    assert isinstance(world.provision(CLAIM), Delay)
    world.now += timedelta(minutes=1)
    world.driver.create = MADE
    assert isinstance(world.provision(CLAIM), ProvisioningRecord)


def test_one_that_cannot_be_deleted_is_asked_for_again_with_the_same_call() -> None:
    world = straying()
    world.driver.delete = [CallFailed(Code.INTERNAL, "stuck")]

    end = world.provision(CLAIM)

    assert isinstance(end, Refuse)
    assert world.memory.in_progress is not None
    assert "volume is orphaned" in messages(world)[-1]
    annotate(claim_in(world), selected_node="node-2")
    world.driver.delete = [Deleted()]
    world.provision(CLAIM)
    assert world.driver.created[0] == world.driver.created[1]
    assert world.memory.in_progress is None


def test_csi_provisioner_keeps_a_volume_wherever_it_is() -> None:
    assert isinstance(straying(COMPATIBLE).provision(CLAIM), ProvisioningRecord)


def test_without_topology_the_driver_has_no_say_in_where_a_volume_is() -> None:
    plain = replace(SETTINGS, plugin_capabilities=frozenset({DriverCapability.CONTROLLER_SERVICE}))

    assert isinstance(straying(plain).provision(CLAIM), ProvisioningRecord)


def test_deleting_it_is_tried_five_times_and_then_told() -> None:
    world = a_world()
    world.driver.create = replace(MADE, capacity_bytes=1)
    world.driver.delete = [CallFailed(Code.INTERNAL, "stuck")]

    world.provision(CLAIM)

    assert len(world.driver.deleted) == 5
    assert "volume is orphaned: rpc error: code = Internal desc = stuck" in messages(world)[-1]


def test_it_is_deleted_with_the_secret_that_it_was_made_with() -> None:
    parameters = {
        "csi.storage.k8s.io/provisioner-secret-name": "admin",
        "csi.storage.k8s.io/provisioner-secret-namespace": "vault",
    }
    world = a_world(class_=a_class_document(parameters=parameters))
    world.driver.create = replace(MADE, capacity_bytes=1)

    world.provision(CLAIM)

    ((_, secret),) = world.driver.deleted
    assert secret == {"user": "bob"}
    assert "bob" not in str(world.events)


@pytest.mark.parametrize("field", ["dataSource", "dataSourceRef"])
def test_a_copy_that_is_empty_is_deleted(field: str) -> None:
    world = a_source_world()
    world.add(CLAIMS, a_claim_document(**{field: FROM_CLAIM}))

    end = world.provision(CLAIM)

    assert isinstance(end, Refuse)
    assert end.failure.problem is Problem.CONTENT_SOURCE_MISSING
    assert len(world.driver.deleted) == 1


def test_csi_provisioner_takes_an_empty_copy_for_data_source_ref() -> None:
    world = a_source_world()
    world.settings = COMPATIBLE
    world.add(CLAIMS, a_claim_document(dataSourceRef=FROM_CLAIM))

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)


def test_a_restored_volume_frees_its_snapshot() -> None:
    world = a_source_world()
    world.add(CLAIMS, a_claim_document(dataSource=FROM_SNAPSHOT))
    world.driver.create = CallFailed(Code.INTERNAL)
    world.provision(CLAIM)
    assert snapshot_in(world)["metadata"]["finalizers"] == [SNAPSHOT_PROTECTION]
    world.driver.create = replace(MADE, content_source=FromSnapshot("snap-0"))

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)
    assert "finalizers" not in snapshot_in(world)["metadata"]


def test_what_is_not_wanted_any_more_is_asked_about_until_it_is_deleted() -> None:
    world = answering(Code.UNAVAILABLE)
    world.provision(CLAIM)
    claim_in(world)["spec"]["volumeName"] = "another"
    world.driver.create, world.driver.delete = MADE, [CallFailed(Code.INTERNAL)]

    end = world.provision(CLAIM)

    assert isinstance(end, Refuse)
    assert end.failure.problem is Problem.UNWANTED
    assert world.memory.in_progress is not None
    world.driver.delete = [Deleted()]
    world.provision(CLAIM)
    assert world.memory.in_progress is None


def test_a_volume_that_cannot_be_stored_is_neither_told_nor_deleted() -> None:
    world = a_world()
    world.refuses_volumes = True

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)
    assert reasons(world) == ["Normal Provisioning"]
    assert world.driver.deleted == []


def test_a_volume_that_cannot_be_stored_yet_is_spoken_of() -> None:
    claim = from_document(PersistentVolumeClaim, a_claim_document())
    record = ProvisioningRecord(
        volume={"metadata": {"name": "pvc-1"}}, claim=claim, memory=NOTHING_KNOWN
    )

    plan = after_unsaved(record, "the server is busy")

    [event] = plan.writes
    assert isinstance(event, Emit)
    assert event.type is EventType.WARNING
    assert event.message == (
        "volume pvc-1 is made, but storing it failed and will be repeated: the server is busy"
    )
