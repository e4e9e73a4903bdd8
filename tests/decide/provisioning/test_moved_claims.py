"""The selected node changes while CreateVolume runs: the volume serves the new one, or goes."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.provisioning.calls import (
    CallFailed,
    Code,
    CreatedVolume,
    CreateOutcome,
    CreateVolumeCall,
    Deleted,
    Segment,
)
from plimsoll.decide.provisioning.claims import decide_claim
from plimsoll.decide.provisioning.settings import ProvisionerMode, ProvisionerSettings
from plimsoll.decide.provisioning.steps import (
    NOTHING_KNOWN,
    Ignore,
    IgnoreReason,
    Prepare,
    ProvisioningRecord,
    Refuse,
    Reschedule,
)
from tests.builders import ZONE
from tests.decide.provisioning.builders import (
    CLAIM,
    GIB,
    NAME,
    SETTINGS,
    a_class_document,
    a_volume_document,
    a_world,
    annotate,
    claim_in,
    messages,
    reasons,
    volumes_in,
)
from tests.decide.provisioning.world import NODES, VOLUMES, Driver, World

STRICT = replace(SETTINGS, strict_topology=True)
COMPATIBLE = replace(STRICT, mode=ProvisionerMode.COMPATIBLE)
A, B = {ZONE: "a"}, {ZONE: "b"}


def nothing() -> None:
    pass


@dataclass(slots=True)
class ZonalDriver(Driver):
    """Makes volumes in the zone that is preferred, one for each name, and looks at no other."""

    during: Callable[[], None] = nothing
    """What happens in the cluster while it works."""
    segments: tuple[Segment, ...] | None = None
    disk: CreatedVolume | None = None
    made: int = 0
    log: list[str] = field(default_factory=list)

    def answer_create(self, call: CreateVolumeCall) -> CreateOutcome:
        during, self.during = self.during, nothing
        during()
        wanted = call.accessibility.requisite if call.accessibility else ()
        if self.disk is None:
            self.made += 1
            where = self.segments or (wanted[0] if wanted else A,)
            self.disk = CreatedVolume(
                volume_id=f"disk-{self.made}", capacity_bytes=GIB, segments=where
            )
        elif wanted and not any(segment in wanted for segment in self.disk.segments):
            return CallFailed(Code.ALREADY_EXISTS, "it is elsewhere")
        return self.disk

    def answer_delete(self) -> Deleted | CallFailed:
        outcome = Driver.answer_delete(self)
        if isinstance(outcome, Deleted):
            self.disk = None
        return outcome


def a_moving_world(
    node: str | None,
    *,
    settings: ProvisionerSettings = STRICT,
    segments: tuple[Segment, ...] | None = None,
    class_: Document | None = None,
) -> tuple[World, ZonalDriver]:
    """Node-1 is in zone a and selected first, node-2 is in zone b."""
    world = a_world(settings=settings, class_=class_)
    driver = ZonalDriver(segments=segments)

    def select() -> None:
        annotate(claim_in(world), selected_node=node)

    driver.during = select
    world.driver = driver
    return world, driver


def zones_recorded(world: World) -> list[str]:
    document = world.documents[VOLUMES, type(CLAIM)("", NAME)]
    (terms,) = document["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    values: list[str] = terms["matchExpressions"][0]["values"]
    return values


def test_a_volume_that_the_new_node_cannot_reach_is_deleted_and_made_for_that_node() -> None:
    world, driver = a_moving_world("node-2")

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)

    assert [call.volume_id for call, _ in driver.deleted] == ["disk-1"]
    assert zones_recorded(world) == ["b"]
    assert world.memory == NOTHING_KNOWN
    assert "Normal SelectedNodeChanged" in reasons(world)
    assert any("it is created again for node node-2" in each for each in messages(world))


@pytest.mark.parametrize("settings", [STRICT, SETTINGS], ids=["strict", "any-segment"])
def test_what_no_driver_was_asked_for_is_prepared_anew_when_another_node_is_selected(
    settings: ProvisionerSettings,
) -> None:
    """The hold was taken off between the look at the claim and the call."""
    world, _ = a_moving_world("node-2", settings=settings)
    first = decide_claim(world.claim(CLAIM), NOTHING_KNOWN, world.context)
    assert isinstance(first, Prepare)
    annotate(claim_in(world), selected_node="node-2")

    second = decide_claim(world.claim(CLAIM), first.memory, world.context)

    assert isinstance(second, Prepare)
    assert second.attempt.accessibility is not None
    assert second.attempt.accessibility.preferred[0] == B


@pytest.mark.parametrize(
    "segments",
    [pytest.param((A, B), id="in-both-zones"), pytest.param(({},), id="reachable-from-everywhere")],
)
def test_a_volume_that_the_new_node_can_reach_is_kept(segments: tuple[Segment, ...]) -> None:
    world, driver = a_moving_world("node-2", segments=segments)

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)

    assert driver.deleted == []
    assert len(driver.created) == 1


def test_when_no_node_is_selected_any_more_the_volume_goes_and_the_claim_waits() -> None:
    world, driver = a_moving_world(None)

    end = world.provision(CLAIM)

    assert isinstance(end, Ignore)
    assert end.reason is IgnoreReason.NO_NODE_SELECTED
    assert driver.disk is None
    assert volumes_in(world) == []


def test_a_volume_of_a_claim_that_waits_for_no_pod_needs_no_selected_node() -> None:
    world, driver = a_moving_world(None, class_=a_class_document(volumeBindingMode="Immediate"))

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)
    assert driver.deleted == []


def test_a_volume_elsewhere_than_the_node_that_is_still_selected_is_kept() -> None:
    """Without strict topology the driver chooses, and the pod follows."""
    world, driver = a_moving_world("node-1", settings=SETTINGS, segments=(B,))

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)
    assert driver.deleted == []


def a_world_that_loses_its_node(settings: ProvisionerSettings) -> tuple[World, ZonalDriver]:
    world, driver = a_moving_world("node-1", settings=settings)

    def during() -> None:
        del world.documents[NODES, type(CLAIM)("", "node-1")]

    driver.during = during
    return world, driver


def test_a_volume_of_a_node_that_is_gone_is_deleted_and_the_node_is_taken_off() -> None:
    world, driver = a_world_that_loses_its_node(STRICT)

    assert isinstance(world.provision(CLAIM), Reschedule)

    assert driver.disk is None
    assert volumes_in(world) == []
    assert SELECTED_NODE not in claim_in(world)["metadata"]["annotations"]
    assert any("node node-1 is gone" in each for each in messages(world))


def test_csi_provisioner_records_a_volume_of_a_node_that_is_gone() -> None:
    world, driver = a_world_that_loses_its_node(COMPATIBLE)

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)
    assert driver.deleted == []


def test_csi_provisioner_records_what_was_made_for_the_node_before() -> None:
    world, driver = a_moving_world("node-2", settings=COMPATIBLE)

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)
    assert driver.deleted == []
    assert zones_recorded(world) == ["a"]


def test_a_volume_whose_deletion_was_begun_is_not_recorded_although_its_node_is_back() -> None:
    """The driver may carry out the deletion after its answer was lost."""
    world, driver = a_moving_world("node-2")
    driver.delete = [CallFailed(Code.DEADLINE_EXCEEDED)]
    assert isinstance(world.provision(CLAIM), Refuse)
    assert world.memory.in_progress is not None
    annotate(claim_in(world), selected_node="node-1")
    assert isinstance(world.provision(CLAIM), Refuse)
    assert volumes_in(world) == []

    driver.delete = [Deleted()]

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)
    assert driver.disk is not None
    assert driver.disk.volume_id == "disk-2"
    assert zones_recorded(world) == ["a"]


def test_a_volume_that_another_process_recorded_is_not_deleted() -> None:
    world, driver = a_moving_world("node-2")

    def during() -> None:
        annotate(claim_in(world), selected_node="node-2")
        world.add(VOLUMES, a_volume_document())

    driver.during = during

    end = world.provision(CLAIM)

    assert isinstance(end, Ignore)
    assert end.reason is IgnoreReason.PROVISIONED_ALREADY
    assert driver.deleted == []
    assert world.memory == NOTHING_KNOWN


def test_csi_provisioner_does_not_look_whether_what_it_deletes_is_recorded() -> None:
    world = a_world(settings=COMPATIBLE)
    small = CreatedVolume(volume_id="disk-1", capacity_bytes=1, segments=(A,))
    world.driver = Driver(create=small)
    taken = a_volume_document()
    world.add(VOLUMES, taken | {"metadata": taken["metadata"] | {"name": "imported"}})

    assert isinstance(world.provision(CLAIM), Refuse)
    assert [call.volume_id for call, _ in world.driver.deleted] == ["disk-1"]


def test_a_flawed_volume_that_is_recorded_under_another_name_is_not_deleted() -> None:
    world = a_world(settings=STRICT)
    small = CreatedVolume(volume_id="disk-1", capacity_bytes=1, segments=(A,))
    world.driver = Driver(create=small)
    taken = a_volume_document()
    world.add(VOLUMES, taken | {"metadata": taken["metadata"] | {"name": "imported"}})

    assert isinstance(world.provision(CLAIM), Ignore)
    assert world.driver.deleted == []


# After a crash between the driver's answer and the deletion


def left_in_zone_a(settings: ProvisionerSettings) -> tuple[World, ZonalDriver]:
    world, driver = a_moving_world("node-2", settings=settings)
    driver.disk = CreatedVolume(volume_id="old", capacity_bytes=GIB, segments=(A,))
    annotate(claim_in(world), selected_node="node-2")
    return world, driver


def test_what_an_earlier_process_had_made_elsewhere_is_found_and_deleted() -> None:
    world, driver = left_in_zone_a(STRICT)

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)

    placed, anywhere, again = (call for call, _ in driver.created)
    assert anywhere == replace(placed, accessibility=None)
    assert again == placed
    assert [call.volume_id for call, _ in driver.deleted] == ["old"]
    assert zones_recorded(world) == ["b"]


def test_csi_provisioner_leaves_it_and_the_claim_waits() -> None:
    world, driver = left_in_zone_a(COMPATIBLE)

    assert isinstance(world.provision(CLAIM), Refuse)
    assert len(driver.created) == 1


def test_a_name_that_is_taken_for_another_reason_is_told_as_before() -> None:
    world, driver = a_moving_world("node-1")
    world.driver = refusing = Driver(create=CallFailed(Code.ALREADY_EXISTS, "another size"))

    end = world.provision(CLAIM)

    assert isinstance(end, Refuse)
    assert "another size" in messages(world)[-1]
    assert refusing.deleted == driver.deleted == []
