"""What is odd about ceph-csi's journal; its whole behaviour is in the oracle `ceph-journal`."""

from plimsoll.decide.ceph.journal.compatible import (
    CompatibleImage,
    CompatibleRequest,
    CompatibleReservation,
    compatible_check,
    compatible_reserve,
    compatible_store_image_id,
    compatible_undo,
)
from plimsoll.decide.ceph.journal.layout import JournalLayout
from plimsoll.decide.ceph.journal.operations import JournalProblem
from tests.decide.ceph.journal.rados_table import RadosTable
from tests.decide.ceph.journal.volume_calls import DIRECTORY, JOURNAL_POOL, POOLS, A

UUID = "11111111-2222-4333-a444-555555555555"
OBJECT = f"csi.volume.{UUID}"
LAYOUT = JournalLayout()
TOGETHER = CompatibleRequest(request_name="pvc-1", journal_pool=A, image_pool=A)
APART = CompatibleRequest(request_name="pvc-1", journal_pool=JOURNAL_POOL, image_pool=A)


def test_a_reservation_is_found_again_and_undone() -> None:
    table = RadosTable(pools=POOLS)
    reserved = table.run(compatible_reserve(LAYOUT, TOGETHER, [UUID]))
    assert reserved == CompatibleReservation(uuid=UUID, image_name=f"csi-vol-{UUID}")
    assert table.run(compatible_store_image_id(LAYOUT, A.name, UUID, "id-1")) is None
    found = table.run(compatible_check(LAYOUT, TOGETHER))
    assert isinstance(found, CompatibleImage)
    assert (found.uuid, found.pool, found.attributes.image_id) == (UUID, A.name, "id-1")
    assert table.run(compatible_undo(LAYOUT, TOGETHER, f"csi-vol-{UUID}")) is None
    assert table.objects == {A.name: {DIRECTORY: {}}}


def test_the_first_free_uuid_is_taken() -> None:
    table = RadosTable(pools=POOLS, objects={A.name: {OBJECT: {}}})
    other = UUID[::-1]
    reserved = table.run(compatible_reserve(LAYOUT, TOGETHER, [UUID, other]))
    assert isinstance(reserved, CompatibleReservation)
    assert reserved.uuid == other
    taken = table.run(compatible_reserve(LAYOUT, TOGETHER, [UUID]))
    assert taken is JournalProblem.OBJECT_EXISTS


def test_where_journal_and_image_are_apart_a_check_does_not_find_what_was_written() -> None:
    table = RadosTable(pools=POOLS)
    table.run(compatible_reserve(LAYOUT, APART, [UUID]))
    assert table.run(compatible_check(LAYOUT, APART)) is JournalProblem.REQUEST_NAME_MISMATCH


def test_a_failed_reservation_leaves_its_object_where_the_pools_are_apart() -> None:
    table = RadosTable(pools=POOLS)
    table.run(compatible_reserve(LAYOUT, APART, [UUID]), fail_at=3)
    assert OBJECT in table.objects[A.name]
