from contextlib import suppress
from itertools import product

import pytest

from plimsoll.decide.ceph.journal.compatible import CompatibleRequest, compatible_reserve
from plimsoll.decide.ceph.journal.layout import CephPoolRef
from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.places import CephJournal, ImagePlace, ImageRequest
from plimsoll.decide.ceph.journal.removal import clean, forget, remove_pieces
from plimsoll.decide.ceph.journal.reservations import reserve
from tests.decide.ceph.journal.rados_table import CrashedError, Fault, RadosTable
from tests.decide.ceph.journal.volume_calls import (
    DIRECTORY,
    JOURNAL,
    JOURNAL_POOL,
    POOLS,
    REQUEST,
    A,
    B,
    Ceph,
    length,
)

UUID = "11111111-2222-4333-a444-555555555555"


def a_volume() -> tuple[Ceph, ImagePlace]:
    ceph = Ceph()
    return ceph, ceph.created(A)


def deletion_faults() -> list[tuple[int, Fault]]:
    ceph, place = a_volume()
    return list(product(range(1, length(ceph.delete(place), ceph) + 1), Fault))


def interrupted_deletion(at: int, fault: Fault) -> tuple[Ceph, ImagePlace]:
    ceph, place = a_volume()
    with suppress(CrashedError):
        ceph.table.run(ceph.delete(place), fail_at=at, fault=fault)
    return ceph, place


def test_a_deleted_volume_leaves_nothing() -> None:
    ceph, place = a_volume()
    assert ceph.table.run(ceph.delete(place)) is None
    ceph.assert_empty()


@pytest.mark.parametrize(("at", "fault"), deletion_faults())
def test_an_interrupted_deletion_is_finished_by_the_next(at: int, fault: Fault) -> None:
    ceph, place = interrupted_deletion(at, fault)
    assert ceph.table.run(ceph.delete(place)) is None
    ceph.assert_empty()


@pytest.mark.parametrize("pool", [A, B], ids=["same-zone", "other-zone"])
@pytest.mark.parametrize(("at", "fault"), deletion_faults())
def test_a_volume_of_the_same_name_can_be_made_after_it(
    at: int, fault: Fault, pool: CephPoolRef
) -> None:
    ceph, _ = interrupted_deletion(at, fault)
    ceph.assert_only(ceph.created(pool))


@pytest.mark.parametrize(("at", "fault"), deletion_faults())
def test_what_the_directory_has_forgotten_is_cleaned_without_another_deletion(
    at: int, fault: Fault
) -> None:
    ceph, _ = interrupted_deletion(at, fault)
    assert ceph.table.run(clean(JOURNAL)) == 0
    if not ceph.table.objects["journal"][DIRECTORY]:
        ceph.assert_empty()


@pytest.mark.parametrize(
    ("journal_pool", "image_pool"),
    [
        pytest.param(A, A, id="journal-of-the-zone"),
        pytest.param(JOURNAL_POOL, A, id="attributes-in-the-journal"),
    ],
)
def test_what_ceph_csi_reserved_is_forgotten(
    journal_pool: CephPoolRef, image_pool: CephPoolRef
) -> None:
    table = RadosTable(pools=POOLS)
    theirs = CompatibleRequest(
        request_name=REQUEST, journal_pool=journal_pool, image_pool=image_pool
    )
    table.run(compatible_reserve(JOURNAL.layout, theirs, [UUID]))
    assert table.run(forget(JOURNAL, image_pool, UUID)) is None
    left = {name: objects for name, objects in table.objects.items() if objects}
    assert left == {journal_pool.name: {DIRECTORY: {}}}


def test_a_request_that_has_another_image_by_now_keeps_it() -> None:
    ceph, place = a_volume()
    older = ImagePlace(pool=B, uuid=UUID, name=f"csi-vol-{UUID}")
    attributes = {"csi.volname": REQUEST, "csi.journalpool": "0000000000000002"}
    ceph.table.objects["zone-b"] = {f"csi.volume.{UUID}": attributes}
    assert ceph.table.run(forget(JOURNAL, older.pool, older.uuid)) is None
    ceph.assert_only(place)


def test_a_zone_that_is_down_keeps_its_own_leftovers_only() -> None:
    ceph = Ceph()
    for pool, uuid in ((A, UUID), (B, UUID[::-1])):
        wanted = ImageRequest(request_name=f"pvc-{pool.name}", pool=pool, uuid=uuid)
        ceph.table.run(reserve(JOURNAL, wanted))
        moved = ImageRequest(request_name=f"pvc-{pool.name}", pool=JOURNAL_POOL, uuid=ceph.uuid())
        ceph.table.run(reserve(JOURNAL, moved))
    ceph.table.down.add("zone-a")
    asked = len(ceph.table.carried_out)
    assert ceph.table.run(clean(JOURNAL, is_asked=lambda id_: id_ == JOURNAL_POOL.id)) == 2
    assert len(ceph.table.carried_out) == asked + 1
    assert ceph.table.run(clean(JOURNAL)) == 1
    assert ceph.table.objects["zone-b"] == {}
    ceph.table.down.clear()
    assert ceph.table.run(clean(JOURNAL)) == 0
    assert ceph.table.objects["zone-a"] == {}


def test_the_leftovers_of_a_pool_that_was_deleted_went_with_it() -> None:
    table = RadosTable(pools=POOLS)
    key = f"plimsoll.leftover.000000000000004d/{UUID}"
    table.objects["journal"] = {DIRECTORY: {key: "csi-vol-1", "plimsoll.leftover.odd": ""}}
    assert table.run(clean(JOURNAL)) == 1
    assert table.objects["journal"] == {DIRECTORY: {"plimsoll.leftover.odd": ""}}


def test_an_empty_journal_needs_no_cleaning() -> None:
    assert RadosTable(pools=POOLS).run(clean(JOURNAL)) == 0
    gone = CephJournal(pool=CephPoolRef("gone", 9))
    assert RadosTable(pools=POOLS).run(clean(gone)) is JournalProblem.POOL_NOT_FOUND


def test_no_image_is_removed_without_its_name() -> None:
    table = RadosTable(pools=POOLS, images={("zone-a", f"csi-vol-{UUID}")})
    place = ImagePlace(pool=A, uuid=UUID, name="")
    assert table.run(remove_pieces(JOURNAL, place)) is None
    assert table.images
