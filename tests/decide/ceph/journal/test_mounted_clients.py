from plimsoll.decide.ceph.journal.fences import FenceState, remove_fence, write_fence
from plimsoll.decide.ceph.journal.mounted_clients import (
    client_key,
    drop_client,
    is_client_of,
    list_clients,
    write_client,
)
from plimsoll.decide.ceph.journal.operations import JournalProblem
from tests.decide.ceph.journal.rados_table import RadosTable
from tests.decide.ceph.journal.volume_calls import JOURNAL, POOLS

HERE = {"region": "east", "zone": "a"}
KEY = client_key("node-1", "csi-vol-1")


def test_the_client_that_is_mounted_next_takes_the_place_of_the_last() -> None:
    table = RadosTable(pools=POOLS)
    assert table.run(list_clients(JOURNAL)) == {}
    for client in ("first", "second"):
        assert table.run(write_client(JOURNAL, KEY, client, HERE)) is None
    assert table.run(list_clients(JOURNAL)) == {KEY: "second"}
    for _ in range(2):
        assert table.run(drop_client(JOURNAL, KEY)) is None
    assert table.run(list_clients(JOURNAL)) == {}


def test_no_client_is_written_down_while_its_domain_or_a_wider_one_is_fenced() -> None:
    table = RadosTable(pools=POOLS)
    for domain in (HERE, {"region": "east"}):
        table.run(write_fence(JOURNAL, domain, FenceState.BEGUN))
        problem = table.run(write_client(JOURNAL, KEY, "client", HERE))
        assert problem is JournalProblem.CHANGED
        assert table.run(write_client(JOURNAL, "other", "client", {"region": "west"})) is None
        table.run(remove_fence(JOURNAL, domain))
    assert table.run(write_client(JOURNAL, KEY, "client", HERE)) is None


def test_clients_of_a_volume_are_told_by_their_keys() -> None:
    assert is_client_of(KEY, "csi-vol-1")
    assert is_client_of(client_key("node-2", "csi-vol-1"), "csi-vol-1")
    assert not is_client_of(KEY, "vol-1")
    assert not is_client_of("csi.volume.node-1/csi-vol-1", "csi-vol-1")
