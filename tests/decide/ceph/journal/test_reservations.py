from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given, strategies as st

from plimsoll.decide.ceph.journal.compatible import CompatibleRequest, compatible_reserve
from plimsoll.decide.ceph.journal.layout import CephPoolRef, JournalKind, JournalLayout
from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.places import CephJournal, ImagePlace, ImageRequest
from plimsoll.decide.ceph.journal.removal import clean
from plimsoll.decide.ceph.journal.reservations import (
    AttemptFinished,
    AttemptSuperseded,
    KnownImage,
    ReservedImage,
    abandon,
    finish,
    reserve,
)
from tests.decide.ceph.journal.rados_table import CrashedError, Fault, RadosTable, TableSteps
from tests.decide.ceph.journal.volume_calls import (
    DIRECTORY,
    JOURNAL,
    JOURNAL_POOL,
    KEY,
    POOLS,
    REQUEST,
    A,
    B,
    CallEnd,
    Ceph,
    length,
)

Call = Callable[[Ceph], TableSteps[object]]

UUID = "11111111-2222-4333-a444-555555555555"


def create_in(pool: CephPoolRef) -> Call:
    return lambda ceph: ceph.create(pool)


def refuse_in(pool: CephPoolRef) -> Call:
    return lambda ceph: ceph.create(pool, has_room=False)


def interrupted(ceph: Ceph, call: Call, at: int, fault: Fault) -> object:
    """What the caller got; None: nothing, the driver crashed."""
    try:
        return ceph.table.run(call(ceph), fail_at=at, fault=fault)
    except CrashedError:
        return None


def faults(call: Call, before: Callable[[], Ceph] = Ceph) -> list[tuple[int, Fault]]:
    """Every fault at every operation of a call, in a world that is made anew."""
    ceph = before()
    return list(product(range(1, length(call(ceph), ceph) + 1), Fault))


def wants(pool: CephPoolRef, uuid: str = UUID, **more: object) -> ImageRequest:
    return ImageRequest(request_name=REQUEST, pool=pool, uuid=uuid, **more)  # type: ignore[arg-type]  # the names are those of its fields


def test_a_finished_volume_looks_as_one_of_ceph_csi() -> None:
    ceph = Ceph()
    place = ceph.created(A)
    ceph.assert_only(place)
    directory = ceph.table.objects["journal"][DIRECTORY]
    assert directory == {KEY: f"0000000000000005/{place.uuid}"}


def test_the_same_request_again_gets_the_same_volume_also_in_another_zone() -> None:
    ceph = Ceph()
    place = ceph.created(A)
    assert ceph.created(A) == place
    assert ceph.created(B) == place
    ceph.assert_only(place)


@pytest.mark.parametrize("again", [A, B], ids=["same-zone", "other-zone"])
@pytest.mark.parametrize(("at", "fault"), faults(create_in(A)))
def test_an_interrupted_call_is_finished_or_undone_by_the_next(
    at: int, fault: Fault, again: CephPoolRef
) -> None:
    ceph = Ceph()
    answered = interrupted(ceph, create_in(A), at, fault)
    place = ceph.created(again)
    ceph.assert_only(place)
    if isinstance(answered, ImagePlace):
        assert place == answered


@pytest.mark.parametrize("last", [A, B], ids=["back", "stay"])
@pytest.mark.parametrize(("at", "fault"), faults(create_in(A)))
def test_a_retry_in_another_zone_may_be_interrupted_too(
    at: int, fault: Fault, last: CephPoolRef
) -> None:
    def half_made() -> Ceph:
        ceph = Ceph()
        interrupted(ceph, create_in(A), at, fault)
        return ceph

    for again, other in faults(create_in(B), half_made):
        ceph = half_made()
        answered = interrupted(ceph, create_in(B), again, other)
        place = ceph.created(last)
        ceph.assert_only(place)
        if isinstance(answered, ImagePlace):
            assert place == answered


@pytest.mark.parametrize(("at", "fault"), faults(refuse_in(A)))
def test_an_attempt_without_room_leaves_nothing_for_the_next_zone(at: int, fault: Fault) -> None:
    ceph = Ceph()
    interrupted(ceph, refuse_in(A), at, fault)
    place = ceph.created(B)
    assert place.pool == B
    ceph.assert_only(place)


def test_an_attempt_without_room_leaves_nothing_at_all() -> None:
    ceph = Ceph()
    assert ceph.table.run(ceph.create(A, has_room=False)) is CallEnd.NO_ROOM
    ceph.assert_empty()


@pytest.mark.parametrize(("at", "fault"), faults(create_in(A)))
def test_a_zone_that_is_down_stops_no_retry_in_another(at: int, fault: Fault) -> None:
    """Unless the first call was answered, or may have been: then the volume is in that zone."""
    ceph = Ceph()
    interrupted(ceph, create_in(A), at, fault)
    ceph.table.down.add("zone-a")
    place = ceph.table.run(ceph.create(B))
    ceph.table.down.clear()
    if not isinstance(place, ImagePlace):
        assert ceph.created(B).pool == A
        return
    assert ceph.table.run(clean(JOURNAL)) == 0
    ceph.assert_only(place)


@pytest.mark.parametrize("again", [A, B], ids=["same-zone", "other-zone"])
@pytest.mark.parametrize("at", [2, 3])
def test_what_ceph_csi_left_half_reserved_is_no_obstacle(at: int, again: CephPoolRef) -> None:
    """ceph-csi itself would complain of mismatched names for ever where the journal is apart."""
    ceph = Ceph()
    theirs = CompatibleRequest(request_name=REQUEST, journal_pool=JOURNAL_POOL, image_pool=A)
    steps = compatible_reserve(JOURNAL.layout, theirs, [UUID])
    with pytest.raises(CrashedError):
        ceph.table.run(steps, fail_at=at, fault=Fault.CRASH_AFTER)
    place = ceph.created(again)
    assert (place.pool.name, place.name) in ceph.table.images
    assert ceph.created(again) == place


@pytest.mark.parametrize("pool", [JOURNAL_POOL, A], ids=["one-pool", "two-pools"])
def test_what_ceph_csi_reserved_is_found(pool: CephPoolRef) -> None:
    table = RadosTable(pools=POOLS)
    theirs = CompatibleRequest(request_name=REQUEST, journal_pool=JOURNAL_POOL, image_pool=pool)
    table.run(compatible_reserve(JOURNAL.layout, theirs, [UUID]))
    found = table.run(reserve(JOURNAL, wants(B, "other")))
    assert isinstance(found, KnownImage)
    assert found.place == ImagePlace(pool=pool, uuid=UUID, name=f"csi-vol-{UUID}")


def test_what_ceph_csi_reserved_in_the_journal_of_a_zone_is_found_too() -> None:
    table = RadosTable(pools=POOLS)
    theirs = CompatibleRequest(request_name=REQUEST, journal_pool=A, image_pool=A)
    table.run(compatible_reserve(JOURNAL.layout, theirs, [UUID]))
    journal = CephJournal(pool=JOURNAL_POOL, older=(CephPoolRef("gone", 9), B, A))
    found = table.run(reserve(journal, wants(B, "other")))
    assert isinstance(found, KnownImage)
    assert found.place.pool == A


def test_an_interrupted_attempt_goes_on_in_any_acceptable_pool() -> None:
    table = RadosTable(pools=POOLS)
    table.run(reserve(JOURNAL, wants(A)))
    found = table.run(reserve(JOURNAL, wants(B, "other", acceptable=frozenset({A.id}))))
    assert found == ReservedImage(
        place=ImagePlace(pool=A, uuid=UUID, name=f"csi-vol-{UUID}"),
        request_name=REQUEST,
        is_resumed=True,
    )


def test_an_image_keeps_its_name_when_the_class_changes_its_prefix() -> None:
    table = RadosTable(pools=POOLS)
    table.run(reserve(JOURNAL, wants(A, name_prefix="old-")))
    found = table.run(reserve(JOURNAL, wants(A, "other", name_prefix="new-")))
    assert isinstance(found, ReservedImage)
    assert found.place.name == f"old-{UUID}"


def test_a_uuid_that_another_volume_has_is_not_used() -> None:
    table = RadosTable(pools=POOLS)
    theirs = {"csi.volname": "pvc-2"}
    table.objects["zone-a"] = {f"csi.volume.{UUID}": dict(theirs)}
    assert table.run(reserve(JOURNAL, wants(A))) is JournalProblem.OBJECT_EXISTS
    assert table.objects["zone-a"] == {f"csi.volume.{UUID}": theirs}
    assert table.objects["journal"][DIRECTORY] == {}


def test_a_snapshot_of_another_source_is_a_conflict() -> None:
    layout = JournalLayout(kind=JournalKind.SNAPSHOT)
    journal = CephJournal(pool=JOURNAL_POOL, layout=layout)
    table = RadosTable(pools=POOLS)
    reserved = table.run(reserve(journal, wants(A, source="csi-vol-1")))
    assert isinstance(reserved, ReservedImage)
    assert reserved.place.name == f"csi-snap-{UUID}"
    assert table.run(finish(journal, reserved, "id")) == AttemptFinished()
    found = table.run(reserve(journal, wants(A, "other", source="csi-vol-2")))
    assert found is JournalProblem.SNAPSHOT_NAME_CONFLICT


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param("zz/nothing", id="unreadable"),
        pytest.param(f"000000000000004d/{UUID}", id="pool-deleted"),
        pytest.param(f"0000000000000005/{UUID}", id="object-gone"),
    ],
)
def test_an_entry_that_leads_nowhere_is_replaced(entry: str) -> None:
    ceph = Ceph()
    ceph.table.objects["journal"] = {DIRECTORY: {KEY: entry}}
    ceph.assert_only(ceph.created(B))


def test_an_entry_that_leads_to_another_request_is_left_to_people() -> None:
    ceph = Ceph()
    ceph.table.objects["journal"] = {DIRECTORY: {KEY: f"0000000000000005/{UUID}"}}
    ceph.table.objects["zone-a"] = {f"csi.volume.{UUID}": {"csi.volname": "pvc-2"}}
    assert ceph.table.run(reserve(JOURNAL, wants(B))) is JournalProblem.REQUEST_NAME_MISMATCH


def test_without_its_pool_there_is_no_journal() -> None:
    journal = CephJournal(pool=CephPoolRef("gone", 9))
    found = RadosTable(pools=POOLS).run(reserve(journal, wants(A)))
    assert found is JournalProblem.POOL_NOT_FOUND


def test_an_attempt_that_was_finished_meanwhile_is_not_abandoned() -> None:
    table = RadosTable(pools=POOLS)
    reserved = table.run(reserve(JOURNAL, wants(A)))
    assert isinstance(reserved, ReservedImage)
    assert table.run(finish(JOURNAL, reserved, "id")) == AttemptFinished()
    assert table.run(abandon(JOURNAL, reserved)) == AttemptFinished()
    assert isinstance(table.run(reserve(JOURNAL, wants(B, "other"))), KnownImage)


def taking_turns(ceph: Ceph, calls: list[TableSteps[object]], turns: list[bool]) -> list[object]:
    """Runs two calls at once; each turn is one operation of either."""
    waiting = {number: next(steps) for number, steps in enumerate(calls)}
    ended: dict[int, object] = {}
    for turn in (*turns, *[True, False] * 200):
        number = int(turn) if int(turn) in waiting else int(not turn)
        if number not in waiting:
            break
        try:
            waiting[number] = calls[number].send(ceph.table.answer(waiting[number]))
        except StopIteration as end:
            del waiting[number]
            ended[number] = end.value
    return [ended[0], ended[1]]


ZONES = st.sampled_from([A, B])


@given(
    zones=st.tuples(ZONES, ZONES),
    room=st.tuples(st.booleans(), st.booleans()),
    turns=st.lists(st.booleans(), max_size=40),
)
def test_two_calls_at_once_make_one_volume(
    zones: tuple[CephPoolRef, CephPoolRef], room: tuple[bool, bool], turns: list[bool]
) -> None:
    ceph = Ceph()
    calls = [ceph.create(zones[number], has_room=room[number]) for number in (0, 1)]
    ended = taking_turns(ceph, calls, turns)
    answered = {end for end in ended if isinstance(end, ImagePlace)}
    assert len(answered) <= 1
    place = ceph.created(zones[0])
    ceph.assert_only(place)
    assert answered <= {place}


def superseded() -> tuple[Ceph, ReservedImage]:
    """A call in zone a has made its image when another one finishes in zone b."""
    ceph = Ceph()
    reserved = ceph.table.run(reserve(JOURNAL, wants(A)))
    assert isinstance(reserved, ReservedImage)
    ceph.created(B)
    ceph.table.images.add((A.name, reserved.place.name))
    return ceph, reserved


def test_a_call_that_was_superseded_removes_what_it_made() -> None:
    ceph, reserved = superseded()
    assert ceph.table.run(finish(JOURNAL, reserved, "id")) == AttemptSuperseded()
    ceph.assert_only(ceph.created(A))


def test_a_call_that_was_superseded_creates_no_object_anew() -> None:
    ceph, reserved = superseded()
    with pytest.raises(CrashedError):
        ceph.table.run(finish(JOURNAL, reserved, "id"), fail_at=1, fault=Fault.CRASH_AFTER)
    assert ceph.table.objects[A.name] == {}


@pytest.mark.parametrize("at", [4, 5, 6])
def test_what_a_superseded_call_made_is_removed_after_it_learned_of_that(at: int) -> None:
    ceph, reserved = superseded()
    with pytest.raises(CrashedError):
        ceph.table.run(finish(JOURNAL, reserved, "id"), fail_at=at, fault=Fault.CRASH_BEFORE)
    ceph.assert_only(ceph.created(A))


def test_a_copy_is_never_gone_on_with_and_gets_a_place_of_its_own() -> None:
    """Another call may have finished it by now: then what it finds there is in use."""
    table = RadosTable(pools=POOLS)
    first = table.run(reserve(JOURNAL, wants(A, may_resume=False)))
    assert isinstance(first, ReservedImage)
    other = "22222222-2222-4333-a444-555555555555"
    second = table.run(reserve(JOURNAL, wants(A, uuid=other, may_resume=False)))
    assert isinstance(second, ReservedImage)
    assert (second.place.uuid, second.is_resumed) == (other, False)
    leftover = JOURNAL.leftover_key(JOURNAL.entry(first.place))
    assert table.objects["journal"][DIRECTORY][leftover] == first.place.name
    assert isinstance(table.run(finish(JOURNAL, second, "id")), AttemptFinished)
    assert isinstance(table.run(finish(JOURNAL, first, "id")), AttemptSuperseded)
    assert isinstance(table.run(reserve(JOURNAL, wants(A))), KnownImage)
