"""What a driver's answer changes."""

from dataclasses import replace

import msgspec
import pytest

from plimsoll.api.meta import OwnerReference
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.decide.capacity.names import CAPACITIES, DRIVER_NAME, MANAGED_BY
from plimsoll.decide.capacity.pools import POOLS, PublishedPool
from plimsoll.decide.capacity.reports import (
    CapacityAnswer,
    CapacityReason,
    CapacitySettings,
    PublishingPolicy,
    about_segment,
    as_quantity,
    believed,
    decide_report,
    has_numbers,
)
from plimsoll.decide.capacity.volume_sizes import Cost
from plimsoll.decide.plan import NOTHING, Create, Patch
from tests.builders import CLASS, DRIVER, ZONE, a_capacity

GIB = 2**30
OURS = OwnerReference(
    api_version="apps/v1", kind="StatefulSet", name="driver", uid="1", controller=True
)
THEIRS = OwnerReference(
    api_version="apps/v1", kind="StatefulSet", name="old", uid="2", controller=True
)
SETTINGS = CapacitySettings(
    driver=DRIVER, publisher="external-provisioner", namespace="plimsoll", owner=OURS
)
ABOUT = about_segment(((ZONE, "a"),), CLASS)


def published(
    *owners: OwnerReference, gib: int = 5, largest: str | None = None
) -> CSIStorageCapacity:
    made = a_capacity(segment={ZONE: "a"}, gib=gib)
    metadata = msgspec.structs.replace(made.metadata, owner_references=owners, resource_version="7")
    return msgspec.structs.replace(made, metadata=metadata, maximum_volume_size=largest)


DISKS = PublishedPool(name="disks", free={"disk": 5 * GIB}, cost=Cost(copies=2))
DISKS_TEXT = '[{"name":"disks","free":{"disk":5368709120},"cost":{"copies":2}}]'


def with_pools(text: str) -> CSIStorageCapacity:
    made = published(OURS)
    metadata = msgspec.structs.replace(made.metadata, annotations={POOLS: text})
    return msgspec.structs.replace(made, metadata=metadata)


def test_pools_are_written_with_the_numbers() -> None:
    (created,) = decide_report(None, CapacityAnswer(GIB, pools=(DISKS,)), ABOUT, SETTINGS).writes
    assert isinstance(created, Create)
    assert created.document["metadata"]["annotations"] == {POOLS: DISKS_TEXT}
    (patched,) = decide_report(
        published(OURS), CapacityAnswer(GIB, pools=(DISKS,)), ABOUT, SETTINGS
    ).writes
    assert isinstance(patched, Patch)
    assert patched.patch == {
        "capacity": "1Gi",
        "maximumVolumeSize": None,
        "metadata": {"annotations": {POOLS: DISKS_TEXT}},
    }


def test_what_is_told_of_pools_already_is_not_written_again() -> None:
    answer = CapacityAnswer(5 * GIB, pools=(DISKS,))
    assert decide_report(with_pools(DISKS_TEXT), answer, ABOUT, SETTINGS) == NOTHING


def test_pools_that_a_driver_does_not_list_any_more_are_taken_off() -> None:
    (patched,) = decide_report(
        with_pools(DISKS_TEXT), CapacityAnswer(5 * GIB), ABOUT, SETTINGS
    ).writes
    assert isinstance(patched, Patch)
    assert patched.patch["metadata"] == {"annotations": {POOLS: None}}


def test_in_compatible_mode_nothing_is_told_of_pools() -> None:
    settings = replace(SETTINGS, policy=PublishingPolicy.COMPATIBLE)
    answer = CapacityAnswer(5 * GIB, pools=(DISKS,))
    assert decide_report(published(OURS), answer, ABOUT, settings) == NOTHING
    (created,) = decide_report(None, answer, ABOUT, settings).writes
    assert isinstance(created, Create)
    assert "annotations" not in created.document["metadata"]


def test_the_first_answer_makes_an_object() -> None:
    plan = decide_report(None, CapacityAnswer(5 * GIB, 2 * GIB), ABOUT, SETTINGS)
    document = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {
            "generateName": "csisc-",
            "namespace": "plimsoll",
            "labels": {DRIVER_NAME: DRIVER, MANAGED_BY: "external-provisioner"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "StatefulSet",
                    "name": "driver",
                    "uid": "1",
                    "controller": True,
                }
            ],
        },
        "storageClassName": CLASS,
        "nodeTopology": {"matchLabels": {ZONE: "a"}},
        "capacity": "5Gi",
        "maximumVolumeSize": "2Gi",
    }
    assert plan.reason == CapacityReason.PUBLISHED
    assert plan.writes == (Create(resource=CAPACITIES, document=document),)


def test_no_capacity_at_all_is_published_too() -> None:
    (write,) = decide_report(None, CapacityAnswer(0), ABOUT, SETTINGS).writes
    assert isinstance(write, Create)
    assert write.document["capacity"] == "0"
    assert "maximumVolumeSize" not in write.document


def test_the_same_numbers_are_not_written_again() -> None:
    existing = published(OURS, largest="1024Mi")
    assert decide_report(existing, CapacityAnswer(5 * GIB, GIB), ABOUT, SETTINGS) == NOTHING


def test_other_numbers_are_written_whatever_version_the_object_has() -> None:
    existing = published(OURS, largest="1Gi")
    plan = decide_report(existing, CapacityAnswer(4 * GIB), ABOUT, SETTINGS)
    patch = {"capacity": "4Gi", "maximumVolumeSize": None}
    assert plan.reason == CapacityReason.CHANGED
    assert plan.writes == (
        Patch(resource=CAPACITIES, key=existing.key, patch=patch, uid=existing.uid),
    )


@pytest.mark.parametrize(
    ("policy", "controls"),
    [
        pytest.param(PublishingPolicy.COMPATIBLE, True, id="as-csi-provisioner"),
        pytest.param(PublishingPolicy.DEFAULT, None, id="a-server-takes-one-controller-only"),
    ],
)
def test_our_reference_is_added_to_those_of_others(
    policy: PublishingPolicy,
    controls: bool | None,  # noqa: FBT001 - what the reference says
) -> None:
    settings = CapacitySettings(
        driver=DRIVER, publisher="p", namespace="plimsoll", owner=OURS, policy=policy
    )
    plan = decide_report(published(THEIRS), CapacityAnswer(5 * GIB), ABOUT, settings)
    (write,) = plan.writes
    assert plan.reason == CapacityReason.ADOPTED
    assert isinstance(write, Patch)
    assert write.version == "7"
    owners = write.patch["metadata"]["ownerReferences"]
    assert [(owner["uid"], owner.get("controller")) for owner in owners] == [
        ("2", True),
        ("1", controls),
    ]


def test_an_object_that_we_own_beside_another_is_left_alone() -> None:
    plain = msgspec.structs.replace(OURS, controller=None)
    assert (
        decide_report(published(THEIRS, plain), CapacityAnswer(5 * GIB), ABOUT, SETTINGS) == NOTHING
    )


def test_without_an_owner_references_are_left_alone() -> None:
    settings = CapacitySettings(driver=DRIVER, publisher="p", namespace="plimsoll")
    assert decide_report(published(THEIRS), CapacityAnswer(5 * GIB), ABOUT, settings) == NOTHING


def test_no_volume_is_larger_than_all_the_capacity() -> None:
    assert believed(CapacityAnswer(3, 9), PublishingPolicy.DEFAULT) == CapacityAnswer(3, 3)
    assert believed(CapacityAnswer(3, 2), PublishingPolicy.DEFAULT) == CapacityAnswer(3, 2)
    assert believed(CapacityAnswer(3), PublishingPolicy.DEFAULT) == CapacityAnswer(3)
    assert believed(CapacityAnswer(3, 9), PublishingPolicy.COMPATIBLE) == CapacityAnswer(3, 9)


def test_a_driver_without_topology_selects_all_nodes() -> None:
    assert about_segment((), CLASS) == {"storageClassName": CLASS, "nodeTopology": {}}


def test_sizes_are_written_with_the_largest_suffix_that_loses_nothing() -> None:
    assert [as_quantity(number) for number in (0, 1000, 1024, 3 * GIB, 5 * 10**9)] == [
        "0",
        "1k",
        "1Ki",
        "3Gi",
        "5000000000",
    ]


def test_numbers_that_make_no_sense_are_not_the_right_ones() -> None:
    broken = msgspec.structs.replace(published(), capacity="plenty")
    assert not has_numbers(broken, CapacityAnswer(5 * GIB))
