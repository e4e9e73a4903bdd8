"""Which problem is told first, and what was done before it was met."""

from dataclasses import replace
from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.api.storage import StorageClass
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim, SecretReference
from plimsoll.decide.provisioning.calls import AccessibilityRequirement, CreateVolumeCall
from plimsoll.decide.provisioning.failures import (
    Problem,
    ProvisioningFailure,
    ProvisioningState,
    RefusalError,
)
from plimsoll.decide.provisioning.preparation import (
    Preparation,
    PreparedRequest,
    Unprepared,
    WantedVolume,
    create_call,
    secret_references,
)
from plimsoll.decide.provisioning.request.sources import Populator
from plimsoll.decide.provisioning.settings import DriverCapability, ProvisionerMode
from plimsoll.decide.provisioning.topology.requirement import NO_TOPOLOGY
from tests.builders import DRIVER, ZONE
from tests.decide.provisioning.builders import (
    CONTROLLER,
    GIB,
    NAME,
    SETTINGS,
    a_claim_document,
    a_class_document,
    a_world,
)
from tests.decide.provisioning.sources import (
    FROM_CLAIM,
    FROM_SNAPSHOT,
    a_source_world,
)
from tests.decide.provisioning.world import ATTRIBUTES_CLASSES, World

SECRET = {
    "csi.storage.k8s.io/provisioner-secret-name": "admin",
    "csi.storage.k8s.io/provisioner-secret-namespace": "vault",
}


def prepared(
    world: World, class_: dict[str, Any] | None = None, node: str = "node-1", **spec: Any
) -> PreparedRequest | Unprepared | Populator:
    wanted = WantedVolume(
        claim=from_document(PersistentVolumeClaim, a_claim_document(**spec)),
        storage_class=from_document(StorageClass, a_class_document(**class_ or {})),
        selected_node=node,
    )
    return Preparation(wanted, world.context).prepare(NO_TOPOLOGY)


def failure(found: object) -> ProvisioningFailure:
    assert isinstance(found, Unprepared)
    return found.failure


def call(world: World, class_: dict[str, Any] | None = None, **spec: Any) -> CreateVolumeCall:
    found = prepared(world, class_, **spec)
    assert isinstance(found, PreparedRequest), found
    return create_call(found.attempt, world.context)


def test_a_call_says_all_that_the_claim_and_its_class_ask_for() -> None:
    made = call(a_world(), {"parameters": SECRET | {"pool": "fast"}})

    assert (made.name, made.capacity_bytes, made.parameters) == (NAME, GIB, {"pool": "fast"})
    assert made.secret == SecretReference(name="admin", namespace="vault")
    assert made.accessibility == AccessibilityRequirement(
        requisite=({ZONE: "a"}, {ZONE: "b"}), preferred=({ZONE: "a"}, {ZONE: "b"})
    )


@pytest.mark.parametrize(
    ("missing", "spec"),
    [
        (DriverCapability.CREATE_DELETE_VOLUME, {}),
        (DriverCapability.CREATE_DELETE_SNAPSHOT, {"dataSource": FROM_SNAPSHOT}),
        (DriverCapability.CLONE_VOLUME, {"dataSource": FROM_CLAIM}),
        (DriverCapability.MODIFY_VOLUME, {"volumeAttributesClassName": "gold"}),
    ],
)
def test_a_driver_that_cannot_do_it_is_not_asked(missing: DriverCapability, spec: Any) -> None:
    world = a_source_world()
    world.settings = replace(SETTINGS, controller_capabilities=CONTROLLER - {missing})

    assert failure(prepared(world, **spec)).problem is Problem.CAPABILITY_MISSING


def test_what_the_claim_itself_says_is_judged_before_its_source() -> None:
    found = prepared(a_world(), selector={"matchLabels": {}}, dataSource=FROM_CLAIM)

    assert failure(found).problem is Problem.SELECTOR


def test_a_source_is_marked_before_the_topology_is_looked_for() -> None:
    world = a_source_world()

    found = prepared(world, node="node-x", dataSource=FROM_SNAPSHOT)

    assert isinstance(found, Unprepared)
    assert found.mark is not None
    assert (found.failure.problem, found.failure.state) == (
        Problem.NODE_NOT_FOUND,
        ProvisioningState.RESCHEDULE,
    )


@pytest.mark.parametrize(
    ("mode", "class_", "state"),
    [
        pytest.param(
            ProvisionerMode.DEFAULT, {}, ProvisioningState.RESCHEDULE, id="another-node-may-serve"
        ),
        pytest.param(
            ProvisionerMode.COMPATIBLE, {}, ProvisioningState.NO_CHANGE, id="csi-provisioner-waits"
        ),
        pytest.param(
            ProvisionerMode.DEFAULT,
            {"volumeBindingMode": "Immediate"},
            ProvisioningState.NO_CHANGE,
            id="no-scheduler-would-select-another",
        ),
    ],
)
def test_a_selected_node_that_cannot_be_served_is_refused(
    mode: ProvisionerMode, class_: Document, state: ProvisioningState
) -> None:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["x"]}]}]
    world = a_world(settings=replace(SETTINGS, mode=mode))

    refused = failure(prepared(world, class_ | {"allowedTopologies": allowed}))

    assert (refused.problem, refused.state) == (Problem.TOPOLOGY, state)


def test_a_driver_without_topology_is_told_of_none() -> None:
    plain = replace(SETTINGS, plugin_capabilities=frozenset({DriverCapability.CONTROLLER_SERVICE}))

    assert call(a_world(settings=plain)).accessibility is None


def test_metadata_is_added_where_the_driver_wants_it() -> None:
    settings = replace(SETTINGS, extra_create_metadata=True)

    assert call(a_world(settings=settings)).parameters["csi.storage.k8s.io/pv/name"] == NAME


def test_an_attributes_class_gives_the_mutable_parameters() -> None:
    world = a_world()
    gold = {"metadata": {"name": "gold"}, "driverName": DRIVER, "parameters": {"iops": "9"}}
    world.add(ATTRIBUTES_CLASSES, gold)

    made = call(world, volumeAttributesClassName="gold")

    assert made.mutable_parameters == {"iops": "9"}


@pytest.mark.parametrize(
    ("driver", "problem", "state"),
    [
        (None, Problem.ATTRIBUTES_CLASS_NOT_FOUND, ProvisioningState.NO_CHANGE),
        ("other", Problem.ATTRIBUTES_CLASS_OF_OTHER_DRIVER, ProvisioningState.FINISHED),
    ],
)
def test_an_attributes_class_must_be_there_and_be_the_drivers(
    driver: str | None, problem: Problem, state: ProvisioningState
) -> None:
    world = a_world()
    if driver:
        world.add(ATTRIBUTES_CLASSES, {"metadata": {"name": "gold"}, "driverName": driver})

    with pytest.raises(RefusalError) as refusal:
        call(world, volumeAttributesClassName="gold")

    assert (refusal.value.failure.problem, refusal.value.failure.state) == (problem, state)


def test_a_server_without_attributes_classes_is_not_asked_for_one() -> None:
    world = a_world(settings=replace(SETTINGS, attributes_classes=False))

    assert call(world, volumeAttributesClassName="gold").mutable_parameters == {}


def test_the_default_secret_serves_all_uses() -> None:
    parameters = {
        "csi.storage.k8s.io/secret-name": "any",
        "csi.storage.k8s.io/secret-namespace": "vault",
    }
    found = prepared(a_world(), {"parameters": parameters})
    assert isinstance(found, PreparedRequest)

    references = secret_references(found.attempt)

    default = SecretReference(name="any", namespace="vault")
    assert references.node_stage == references.controller_modify == default
    assert found.attempt.secret == default
