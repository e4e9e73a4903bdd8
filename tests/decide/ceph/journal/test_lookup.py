import pytest

from plimsoll.decide.ceph.journal.layout import CephPoolRef, DirectoryEntry, ImageAttributes
from plimsoll.decide.ceph.journal.lookup import (
    FoundAttributes,
    RequestState,
    find_attributes,
    find_pool,
    read_request,
)
from plimsoll.decide.ceph.journal.operations import JournalProblem
from tests.decide.ceph.journal.rados_table import RadosTable
from tests.decide.ceph.journal.volume_calls import DIRECTORY, JOURNAL, JOURNAL_POOL, KEY, POOLS, A

UUID = "11111111-2222-4333-a444-555555555555"
OBJECT = f"csi.volume.{UUID}"


@pytest.mark.parametrize(
    ("making", "is_being_made"),
    [
        pytest.param(f"{UUID} csi-vol-1", True, id="being-made"),
        pytest.param("", False, id="finished"),
        pytest.param("other csi-vol-2", False, id="replaced-by-ceph-csi"),
    ],
)
def test_a_request_tells_whether_its_image_is_being_made(
    making: str, *, is_being_made: bool
) -> None:
    table = RadosTable(pools=POOLS)
    table.objects["journal"] = {DIRECTORY: {KEY: UUID, "plimsoll.making.pvc-1": making}}
    state = table.run(read_request(JOURNAL, "pvc-1"))
    assert isinstance(state, RequestState)
    assert state.is_being_made is is_being_made
    assert state.leads_to(UUID)


def test_a_request_that_is_not_there_leads_nowhere() -> None:
    state = RadosTable(pools=POOLS).run(read_request(JOURNAL, "pvc-1"))
    assert state == RequestState()
    assert not RequestState().leads_to(UUID)
    assert not RequestState(entry="damaged").leads_to(UUID)


def test_attributes_are_with_the_image_or_with_the_journal() -> None:
    table = RadosTable(pools=POOLS)
    assert table.run(find_attributes(JOURNAL, "zone-a", UUID)) is None
    table.objects["journal"] = {OBJECT: {"csi.volname": "pvc-1"}}
    table.objects["zone-a"] = {OBJECT: {}}
    expected = ImageAttributes(request_name="pvc-1", image_name=f"csi-vol-{UUID}")
    found = table.run(find_attributes(JOURNAL, "zone-a", UUID))
    assert found == FoundAttributes(attributes=expected, pool="journal")


def test_damaged_attributes_are_a_problem() -> None:
    table = RadosTable(pools=POOLS)
    table.objects["zone-a"] = {OBJECT: {"csi.volname": "pvc-1", "csi.journalpool": "xyz"}}
    found = table.run(find_attributes(JOURNAL, "zone-a", UUID))
    assert found is JournalProblem.BAD_POOL_ID


def test_a_pool_is_found_by_its_id() -> None:
    table = RadosTable(pools=POOLS)
    assert table.run(find_pool(JOURNAL, DirectoryEntry(UUID))) == JOURNAL_POOL
    assert table.run(find_pool(JOURNAL, DirectoryEntry(UUID, A.id))) == A
    assert table.run(find_pool(JOURNAL, DirectoryEntry(UUID, 77))) is None
    failed = table.run(find_pool(JOURNAL, DirectoryEntry(UUID, A.id)), fail_at=1)
    assert failed is JournalProblem.IO_ERROR
    assert CephPoolRef("p").id == -1
