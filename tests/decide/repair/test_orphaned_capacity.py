"""Which published capacities are deleted, and what must be proven before."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.core import Lease, LeaseSpec
from plimsoll.api.meta import ObjectKey
from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.decide.capacity.freshness import publisher_lease
from plimsoll.decide.capacity.names import TEMPLATE_NODE
from plimsoll.decide.capacity.reports import CapacitySettings
from plimsoll.decide.plan import Delete
from plimsoll.decide.repair.orphaned_capacity import (
    CapacityEvidence,
    Orphaned,
    complaints,
    decide_orphaned_capacity,
    leases_of_publisher,
)
from tests.builders import DRIVER, a_capacity, a_class, a_node

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
MARKS = {
    "csi.storage.k8s.io/managed-by": "external-provisioner",
    "csi.storage.k8s.io/drivername": DRIVER,
}


def capacity(labels: dict[str, str] | None = None) -> CSIStorageCapacity:
    made = a_capacity(segment={"rack": "1"}, gib=5)
    metadata = msgspec.structs.replace(made.metadata, labels=MARKS if labels is None else labels)
    return msgspec.structs.replace(made, metadata=metadata)


def lease(minutes_ago: int) -> Lease:
    renewed = NOW - timedelta(minutes=minutes_ago)
    return Lease(spec=LeaseSpec(renew_time=renewed, lease_duration_seconds=15))


FINE = CapacityEvidence(
    storage_class=a_class(), drivers={DRIVER}, nodes=[a_node(labels={"rack": "1"})], now=NOW
)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        pytest.param(FINE, set(), id="all-is-well"),
        pytest.param(replace(FINE, owner_is_gone=True), {Orphaned.OWNER_GONE}, id="owner"),
        pytest.param(replace(FINE, storage_class=None), {Orphaned.CLASS_GONE}, id="class"),
        pytest.param(replace(FINE, drivers=()), {Orphaned.DRIVER_GONE}, id="driver"),
        pytest.param(replace(FINE, nodes=[a_node()]), {Orphaned.TOPOLOGY_GONE}, id="topology"),
    ],
)
def test_what_can_be_wrong(evidence: CapacityEvidence, expected: set[Orphaned]) -> None:
    assert set(complaints(capacity(), evidence)) == expected


def test_the_object_of_a_publisher_whose_owner_is_gone_is_deleted() -> None:
    repair = decide_orphaned_capacity(capacity(), replace(FINE, owner_is_gone=True))
    assert repair is not None
    (delete,) = repair.writes
    assert isinstance(delete, Delete)
    assert delete.key == ObjectKey("plimsoll", "capacity-1")


@pytest.mark.parametrize(
    ("found", "evidence"),
    [
        pytest.param(
            capacity({}), replace(FINE, owner_is_gone=True), id="made-by-hand-without-a-mark"
        ),
        pytest.param(capacity(), replace(FINE, nodes=()), id="nothing-known-of-the-publisher"),
        pytest.param(
            capacity(), replace(FINE, nodes=(), lease=lease(1)), id="the-publisher-is-alive"
        ),
        pytest.param(
            capacity(), replace(FINE, nodes=(), lease=lease(9)), id="it-may-be-restarting"
        ),
        pytest.param(capacity(), replace(FINE, lease=lease(60)), id="dead-but-the-report-is-good"),
    ],
)
def test_what_is_left_alone(found: CSIStorageCapacity, evidence: CapacityEvidence) -> None:
    assert decide_orphaned_capacity(found, evidence) is None


def test_the_lease_of_a_publisher_that_ran_out_long_ago_is_a_proof() -> None:
    evidence = replace(FINE, nodes=(), lease=lease(60))
    repair = decide_orphaned_capacity(capacity(), evidence)
    assert repair is not None
    assert repair.found == (
        "No publisher keeps this capacity up to date: no node has its topology any more"
    )


def test_a_topology_that_cannot_be_read_is_nowhere_missing() -> None:
    odd = LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="a", operator="Near"),))
    unreadable = msgspec.structs.replace(capacity(), node_topology=odd)
    assert set(complaints(unreadable, replace(FINE, nodes=()))) == set()


def test_the_publishers_own_lease_is_a_better_proof_than_that_of_the_leader() -> None:
    own, leader = leases_of_publisher(capacity())
    settings = CapacitySettings(
        driver=DRIVER, publisher="external-provisioner", namespace="plimsoll"
    )
    assert own == publisher_lease(settings)
    assert leader == ObjectKey("plimsoll", "local-plimsoll-dev")
    assert leases_of_publisher(capacity({})) == ()


def test_numbers_for_nodes_that_do_not_exist_yet_are_not_orphaned_by_that() -> None:
    made = a_capacity(segment={TEMPLATE_NODE: "true", "rack": "1"}, gib=5)
    metadata = msgspec.structs.replace(made.metadata, labels=MARKS)
    imagined = msgspec.structs.replace(made, metadata=metadata)
    assert set(complaints(imagined, FINE)) == set()


@given(
    marked=st.booleans(),
    owner=st.booleans(),
    class_there=st.booleans(),
    driver_there=st.booleans(),
    node_there=st.booleans(),
    renewed=st.one_of(st.none(), st.integers(0, 30)),
)
def test_nothing_is_deleted_without_a_mark_a_fault_and_a_dead_publisher(
    *,
    marked: bool,
    owner: bool,
    class_there: bool,
    driver_there: bool,
    node_there: bool,
    renewed: int | None,
) -> None:
    evidence = CapacityEvidence(
        owner_is_gone=owner,
        storage_class=a_class() if class_there else None,
        drivers={DRIVER} if driver_there else set(),
        nodes=FINE.nodes if node_there else (),
        lease=None if renewed is None else lease(renewed),
        now=NOW,
    )
    found = capacity() if marked else capacity({"csi.storage.k8s.io/drivername": DRIVER})
    is_faulty = owner or not (class_there and driver_there and node_there)
    is_dead = owner or (renewed is not None and renewed > 10)
    repair = decide_orphaned_capacity(found, evidence)
    assert (repair is not None) == (marked and is_faulty and is_dead)
