from plimsoll.decide.ceph.journal.fences import (
    FenceState,
    fence_keys,
    is_within,
    list_fences,
    remove_fence,
    write_fence,
)
from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.stored_records import write_writer
from tests.decide.ceph.journal.rados_table import RadosTable
from tests.decide.ceph.journal.test_stored_records import a_volume, stored
from tests.decide.ceph.journal.volume_calls import JOURNAL, POOLS

ZONE, REGION = {"t/zone": "a"}, {"t/region": "east"}
NODE = ZONE | REGION
OTHER = {"t/zone": "b"} | REGION
SINCE = FenceState.BEGUN


def test_a_node_is_in_every_domain_that_its_labels_name() -> None:
    assert len(set(fence_keys(NODE))) == 3
    assert is_within(NODE, ZONE)
    assert is_within(NODE, REGION)
    assert not is_within(OTHER, ZONE)
    assert not is_within(NODE, {})


def test_no_node_of_a_fenced_domain_gets_a_lease_and_others_do() -> None:
    for domain in (ZONE, REGION | ZONE):
        table, _ = a_volume()
        assert table.run(write_fence(JOURNAL, domain, SINCE)) is None
        refused = table.run(write_writer(stored(table), "node-1", topology=NODE))
        assert refused is JournalProblem.CHANGED
        assert table.run(write_writer(stored(table), "node-2", topology=OTHER)) is None


def test_a_node_of_a_fenced_region_gets_none_whatever_its_zone() -> None:
    table, _ = a_volume()
    table.run(write_fence(JOURNAL, REGION, SINCE))
    for node in (NODE, OTHER):
        refused = table.run(write_writer(stored(table), "node", topology=node))
        assert refused is JournalProblem.CHANGED


def test_a_writer_gives_back_in_a_fenced_domain() -> None:
    table, _ = a_volume()
    table.run(write_writer(stored(table), "node-1", topology=NODE))
    table.run(write_fence(JOURNAL, ZONE, SINCE))
    assert table.run(write_writer(stored(table), "")) is None


def test_fences_are_listed_until_they_are_removed() -> None:
    table = RadosTable(pools=POOLS)
    assert table.run(list_fences(JOURNAL)) == ()
    table.run(write_fence(JOURNAL, ZONE, SINCE))
    table.run(write_fence(JOURNAL, ZONE, SINCE))
    assert table.run(list_fences(JOURNAL)) == ((ZONE, FenceState.BEGUN),)
    table.run(write_fence(JOURNAL, ZONE, FenceState.COMPLETE))
    assert table.run(list_fences(JOURNAL)) == ((ZONE, FenceState.COMPLETE),)
    assert table.run(remove_fence(JOURNAL, ZONE)) is None
    assert table.run(remove_fence(JOURNAL, ZONE)) is None
    assert table.run(list_fences(JOURNAL)) == ()
