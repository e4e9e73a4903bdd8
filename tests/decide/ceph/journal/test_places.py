import pytest

from plimsoll.decide.ceph.journal.layout import CephPoolRef, DirectoryEntry, ImageAttributes
from plimsoll.decide.ceph.journal.places import (
    CephJournal,
    ImagePlace,
    ImageRequest,
    new_attributes,
    new_place,
    parse_leftover,
)

UUID = "11111111-2222-4333-a444-555555555555"
JOURNAL = CephJournal(pool=CephPoolRef("journal", 2))
HERE = ImagePlace(pool=CephPoolRef("journal", 2), uuid=UUID, name="v-1")
THERE = ImagePlace(pool=CephPoolRef("zone-a", 5), uuid=UUID, name="v-1")


def test_an_entry_names_the_pool_only_if_it_is_another() -> None:
    assert JOURNAL.entry(HERE).text == UUID
    assert JOURNAL.entry(THERE).text == f"0000000000000005/{UUID}"
    assert JOURNAL.making(THERE) == f"0000000000000005/{UUID} v-1"


def test_a_leftover_always_names_its_pool() -> None:
    key = JOURNAL.leftover_key(JOURNAL.entry(HERE))
    assert key == f"plimsoll.leftover.0000000000000002/{UUID}"
    assert parse_leftover(key) == DirectoryEntry(UUID, 2)
    with pytest.raises(ValueError, match="is no id of a pool"):
        parse_leftover("plimsoll.leftover.odd")


def test_the_journal_is_remembered_with_an_image_in_another_pool() -> None:
    request = ImageRequest(
        request_name="pvc-1", pool=THERE.pool, uuid=UUID, name_prefix="v-", owner="team-a"
    )
    place = new_place(JOURNAL, request)
    assert place.name == f"v-{UUID}"
    assert new_attributes(JOURNAL, request, place) == ImageAttributes(
        request_name="pvc-1", image_name=f"v-{UUID}", journal_pool_id=2, owner="team-a"
    )
    assert new_attributes(JOURNAL, request, HERE).journal_pool_id == -1


def test_an_attempt_may_be_resumed_in_the_pool_of_the_request_and_in_acceptable_ones() -> None:
    request = ImageRequest(
        request_name="pvc-1", pool=THERE.pool, uuid=UUID, acceptable=frozenset({7})
    )
    assert [request.may_resume_in(pool_id) for pool_id in (5, 6, 7)] == [True, False, True]
