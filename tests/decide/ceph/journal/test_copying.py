from plimsoll.decide.ceph.journal.copying import (
    begin_copy,
    end_copy,
    find_interrupted,
    names_in_the_making,
)
from plimsoll.decide.ceph.journal.layout import CephPoolRef
from plimsoll.decide.ceph.journal.places import ImagePlace, ImageRequest
from plimsoll.decide.ceph.journal.reservations import ReservedImage, reserve
from tests.decide.ceph.journal.rados_table import RadosTable
from tests.decide.ceph.journal.volume_calls import JOURNAL, POOLS

NAME, ID = next(iter(POOLS.items()))
POOL = CephPoolRef(NAME, ID)
SOURCE = ImagePlace(pool=POOL, uuid="", name="csi-vol-source")


def reserved(table: RadosTable, number: int) -> str:
    """The name of a copy that is being made, at a place of its own."""
    uuid = f"00000000-0000-0000-0000-{number:012}"
    request = ImageRequest(request_name="pvc-1", pool=POOL, uuid=uuid, may_resume=False)
    found = table.run(reserve(JOURNAL, request))
    assert isinstance(found, ReservedImage)
    return found.place.name


def test_a_copy_is_interrupted_when_its_request_leads_to_another() -> None:
    table = RadosTable(pools=POOLS)
    assert table.run(find_interrupted(JOURNAL)) == {}
    first = reserved(table, 1)
    assert table.run(begin_copy(JOURNAL, first, SOURCE)) is None
    assert table.run(names_in_the_making(JOURNAL)) == frozenset({first})
    assert table.run(find_interrupted(JOURNAL)) == {}
    reserved(table, 2)
    assert table.run(find_interrupted(JOURNAL)) == {first: SOURCE}
    for _ in range(2):
        assert table.run(end_copy(JOURNAL, first)) is None
    assert table.run(find_interrupted(JOURNAL)) == {}


def test_of_a_source_whose_pool_is_gone_nothing_is_known() -> None:
    table = RadosTable(pools=POOLS)
    gone = ImagePlace(pool=CephPoolRef("gone", 4711), uuid="", name="csi-vol-source")
    table.run(begin_copy(JOURNAL, "csi-vol-1", gone))
    assert table.run(find_interrupted(JOURNAL)) == {"csi-vol-1": None}
