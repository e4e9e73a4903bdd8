from dataclasses import replace

from plimsoll.decide.ceph.journal.layout import DirectoryEntry
from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.places import CephJournal, ImagePlace, ImageRequest
from plimsoll.decide.ceph.journal.removal import forget
from plimsoll.decide.ceph.journal.reservations import (
    AttemptFinished,
    ReservedImage,
    finish,
    give_up,
    reserve,
)
from plimsoll.decide.ceph.journal.stored_records import (
    JournalRecord,
    ListedRecords,
    find_record,
    find_request_record,
    list_records,
    write_record,
    write_writer,
)
from tests.decide.ceph.journal.rados_table import RadosTable
from tests.decide.ceph.journal.volume_calls import DIRECTORY, JOURNAL, POOLS, REQUEST, A

UUID = "00000000-0000-4000-8000-000000000001"
ENTRY = DirectoryEntry(UUID, A.id)


def reserved(table: RadosTable, journal: CephJournal = JOURNAL) -> ReservedImage:
    wanted = ImageRequest(request_name=REQUEST, pool=A, uuid=UUID)
    found = table.run(reserve(journal, wanted))
    assert isinstance(found, ReservedImage)
    return found


def a_volume(record: str = "first") -> tuple[RadosTable, ImagePlace]:
    table = RadosTable(pools=POOLS)
    attempt = reserved(table)
    ended = table.run(finish(JOURNAL, attempt, "id", record=record))
    assert isinstance(ended, AttemptFinished)
    return table, attempt.place


def stored(table: RadosTable, entry: DirectoryEntry = ENTRY) -> JournalRecord:
    found = table.run(find_record(JOURNAL, entry))
    assert isinstance(found, JournalRecord)
    return found


def test_a_record_is_found_by_its_image_and_by_its_request() -> None:
    table, place = a_volume()
    found = stored(table)
    assert (found.text, found.place, found.journal.pool) == ("first", place, JOURNAL.pool)
    assert table.run(find_request_record(JOURNAL, REQUEST)) == found


def test_an_image_that_is_being_made_has_no_record_yet() -> None:
    table = RadosTable(pools=POOLS)
    reserved(table)
    assert table.run(find_record(JOURNAL, ENTRY)) is None
    assert table.run(find_request_record(JOURNAL, REQUEST)) is None


def test_an_image_without_a_record_is_of_another_program() -> None:
    table, _ = a_volume(record="")
    found = stored(table)
    assert not found.text
    assert found.attributes is not None
    assert found.attributes.request_name == REQUEST


def test_an_image_is_found_in_the_journal_that_its_object_names() -> None:
    table, _ = a_volume()
    elsewhere = CephJournal(pool=A)
    found = table.run(find_record(elsewhere, ENTRY))
    assert isinstance(found, JournalRecord)
    assert found.journal.pool == JOURNAL.pool


def test_no_record_is_of_a_pool_that_is_gone() -> None:
    table, _ = a_volume()
    assert table.run(find_record(JOURNAL, DirectoryEntry(UUID, 77))) is None


def test_a_zone_that_is_down_is_no_reason_to_say_that_there_is_nothing() -> None:
    table, _ = a_volume()
    table.down.add(A.name)
    assert table.run(find_record(JOURNAL, ENTRY)) is JournalProblem.IO_ERROR


def test_of_two_changes_that_began_with_the_same_record_one_is_refused() -> None:
    table, _ = a_volume()
    found = stored(table)
    assert table.run(write_record(found, "second")) is None
    assert table.run(write_record(found, "third")) is JournalProblem.CHANGED
    assert stored(table).text == "second"


def test_a_volume_that_changed_gets_no_writer_that_read_it_before() -> None:
    table, _ = a_volume()
    found = stored(table)
    table.run(write_record(found, "removing"))
    assert table.run(write_writer(found, "node-1")) is JournalProblem.CHANGED
    assert not stored(table).writer


def test_of_two_writers_one_is_refused() -> None:
    table, _ = a_volume()
    found = stored(table)
    assert table.run(write_writer(found, "node-1")) is None
    assert table.run(write_writer(found, "node-2")) is JournalProblem.CHANGED
    assert stored(table).writer == "node-1"


def test_a_writer_gives_back_also_when_the_record_has_changed() -> None:
    table, _ = a_volume()
    table.run(write_writer(stored(table), "node-1"))
    found = stored(table)
    table.run(write_record(found, "second"))
    assert table.run(write_writer(found, "")) is None
    assert not stored(table).writer


def test_all_records_and_writers_are_listed_by_their_images() -> None:
    table, _ = a_volume()
    table.run(write_writer(stored(table), "node-1"))
    listed = table.run(list_records(JOURNAL))
    assert listed == ListedRecords(records={ENTRY: "first"}, writers={ENTRY: "node-1"})


def test_keys_that_are_none_of_ours_are_not_listed() -> None:
    table, _ = a_volume()
    table.objects[JOURNAL.pool.name][DIRECTORY]["plimsoll.record.what"] = "?"
    listed = table.run(list_records(JOURNAL))
    assert isinstance(listed, ListedRecords)
    assert listed.records.keys() == {ENTRY}


def test_a_removed_volume_takes_its_record_along() -> None:
    table, place = a_volume()
    assert table.run(forget(JOURNAL, place.pool, place.uuid)) is None
    assert table.run(list_records(JOURNAL)) == ListedRecords(records={}, writers={})


def test_a_record_outlives_the_object_of_its_image_until_all_is_removed() -> None:
    table, place = a_volume()
    table.objects[A.name].clear()
    found = stored(table)
    assert (found.text, found.attributes) == ("first", None)
    assert found.place == replace(place, name=found.place.name)


def test_an_attempt_that_is_given_up_is_a_leftover_while_its_zone_is_down() -> None:
    table = RadosTable(pools=POOLS)
    attempt = reserved(table)
    table.down.add(A.name)
    assert table.run(give_up(JOURNAL, REQUEST)) == attempt.place
    keys = table.objects[JOURNAL.pool.name][DIRECTORY]
    assert keys == {JOURNAL.leftover_key(JOURNAL.entry(attempt.place)): attempt.place.name}


def test_a_volume_that_is_made_is_not_given_up() -> None:
    table, _ = a_volume()
    assert table.run(give_up(JOURNAL, REQUEST)) is None
    assert stored(table).text == "first"


def test_a_record_that_tells_the_name_is_found_while_the_pool_of_the_image_is_down() -> None:
    table, place = a_volume()
    table.down = {A.name}
    found = table.run(find_record(JOURNAL, ENTRY, name_in=lambda _: place.name))
    assert isinstance(found, JournalRecord)
    assert (found.text, found.place, found.attributes) == ("first", place, None)
    by_name = find_request_record(JOURNAL, REQUEST, name_in=lambda _: place.name)
    assert table.run(by_name) == found
