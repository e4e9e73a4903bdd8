from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.record_tables import LedgerRecords
from plimsoll.processes.driver.records import VolumePlacement
from plimsoll.runtime.ids import seeded_ids

NOWHERE = VolumePlacement(pools=(), parts=())


def records(*, ids_from_names: bool = False) -> LedgerRecords:
    ids = seeded_ids(1)
    return LedgerRecords(Ledger(None), backend="local", ids=ids, ids_from_names=ids_from_names)


async def test_ids_of_volumes_and_snapshots_tell_the_backend() -> None:
    made = records()
    assert (await made.volumes.new_id("data", NOWHERE)).startswith("local-")
    assert (await made.snapshots.new_id("daily", NOWHERE)).startswith("local-snapshot-")


async def test_ids_are_new_even_for_the_same_name() -> None:
    made = records()
    assert await made.volumes.new_id("data", NOWHERE) != await made.volumes.new_id("data", NOWHERE)


async def test_a_driver_may_know_volumes_by_the_names_that_were_asked_for() -> None:
    made = records(ids_from_names=True)
    assert await made.volumes.new_id("data", NOWHERE) == "local-data"
