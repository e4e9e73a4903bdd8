from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.request_clusters import (
    VolumeClaim,
    confirm_claim,
    drop_abandoned,
    drop_claim,
    find_claim,
    list_abandoned,
    parse_claim,
    write_claim,
)
from tests.decide.ceph.journal.rados_table import RadosTable
from tests.decide.ceph.journal.volume_calls import JOURNAL, POOLS

REQUEST = "pvc-1"
MAKING_WEST, MAKING_EAST = VolumeClaim(volume_id="west-1"), VolumeClaim(volume_id="east-1")
MADE_WEST = VolumeClaim(volume_id="west-1", is_made=True)


def with_claim(*, is_made: bool = False) -> RadosTable:
    table = RadosTable(pools=POOLS)
    assert table.run(write_claim(JOURNAL, REQUEST, None, "west-1")) is None
    if is_made:
        assert table.run(confirm_claim(JOURNAL, REQUEST, "west-1")) is None
    return table


def test_a_request_leads_to_its_volume_before_and_after_it_is_made() -> None:
    table = RadosTable(pools=POOLS)
    assert table.run(find_claim(JOURNAL, REQUEST)) is None
    table = with_claim()
    assert table.run(find_claim(JOURNAL, REQUEST)) == MAKING_WEST
    for _ in range(2):
        assert table.run(confirm_claim(JOURNAL, REQUEST, "west-1")) is None
    assert table.run(find_claim(JOURNAL, REQUEST)) == MADE_WEST


def test_what_was_being_made_is_abandoned_for_a_volume_in_another_cluster() -> None:
    table = with_claim()
    assert table.run(write_claim(JOURNAL, REQUEST, MAKING_WEST, "east-1")) is None
    assert table.run(find_claim(JOURNAL, REQUEST)) == MAKING_EAST
    assert table.run(list_abandoned(JOURNAL)) == {"west-1": REQUEST}
    assert table.run(confirm_claim(JOURNAL, REQUEST, "west-1")) is JournalProblem.CHANGED
    for _ in range(2):
        assert table.run(drop_abandoned(JOURNAL, "west-1")) is None
    assert table.run(list_abandoned(JOURNAL)) == {}


def test_a_volume_that_is_made_and_gone_is_not_abandoned() -> None:
    table = with_claim(is_made=True)
    assert table.run(write_claim(JOURNAL, REQUEST, MADE_WEST, "east-1")) is None
    assert table.run(list_abandoned(JOURNAL)) == {}


def test_of_two_calls_one_writes_its_claim() -> None:
    table = with_claim()
    assert table.run(write_claim(JOURNAL, REQUEST, None, "east-1")) is JournalProblem.CHANGED
    assert table.run(write_claim(JOURNAL, REQUEST, MADE_WEST, "east-1")) is JournalProblem.CHANGED
    assert table.run(find_claim(JOURNAL, REQUEST)) == MAKING_WEST


def test_a_deleted_volume_takes_its_own_claim_with_it_and_no_other() -> None:
    for is_made in (True, False):
        table = with_claim(is_made=is_made)
        assert table.run(drop_claim(JOURNAL, REQUEST, "east-1")) is None
        assert table.run(find_claim(JOURNAL, REQUEST)) is not None
        for _ in range(2):
            assert table.run(drop_claim(JOURNAL, REQUEST, "west-1")) is None
        assert table.run(find_claim(JOURNAL, REQUEST)) is None


def test_what_no_driver_wrote_is_no_claim() -> None:
    assert [parse_claim(text) for text in ("", "made", "made ", "broken west-1")] == [None] * 4
