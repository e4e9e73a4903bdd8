"""Two leaders with drivers of their own, which know nothing of each other but what RADOS tells."""

from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest

from plimsoll.decide.ceph.journal.fence_leaders import LEADER, FenceLeader, NewerLeader
from plimsoll.decide.ceph.journal.fences import (
    FenceState,
    confirm_fence,
    list_fences,
    remove_fence,
    write_fence,
)
from plimsoll.decide.ceph.journal.operations import JournalProblem
from tests.decide.ceph.journal.rados_table import RadosTable, TableSteps
from tests.decide.ceph.journal.volume_calls import DIRECTORY, JOURNAL, JOURNAL_POOL, POOLS

ZONE, OTHER = {"t/zone": "a"}, {"t/zone": "b"}
COMPLETE = FenceState.COMPLETE
MADE = datetime(2030, 1, 31, tzinfo=UTC)
FIRST = FenceLeader("storage/controller", MADE, 7)
SECOND = FIRST._replace(transitions=8)
LEASE_MADE_ANEW = FIRST._replace(lease_created_at=MADE + timedelta(hours=1), transitions=0)


@pytest.fixture
def table() -> RadosTable:
    made = RadosTable(pools=POOLS)
    made.run(write_fence(JOURNAL, ZONE, COMPLETE, FIRST))
    return made


def fenced(table: RadosTable) -> list[dict[str, str]]:
    found = table.run(list_fences(JOURNAL))
    assert not isinstance(found, JournalProblem)
    return [dict(each.domain) for each in found]


def in_order(
    table: RadosTable, order: str, first: TableSteps[object], second: TableSteps[object]
) -> list[object]:
    """What both come to, when their operations are carried out in this order, and the rest."""
    calls, found = {"1": first, "2": second}, {}
    wanted = {name: next(steps) for name, steps in calls.items()}
    for name in order + "1" * 20 + "2" * 20:
        if name in wanted:
            try:
                wanted[name] = calls[name].send(table.answer(wanted[name]))
            except StopIteration as end:
                found[name] = end.value
                del wanted[name]
    return [found["1"], found["2"]]


ORDERS = [
    "".join("1" if at in chosen else "2" for at in range(6))
    for size in range(7)
    for chosen in combinations(range(6), size)
]


@pytest.mark.parametrize("newer", [SECOND, LEASE_MADE_ANEW], ids=["next-leader", "new-lease"])
@pytest.mark.parametrize("order", ORDERS)
def test_a_fence_that_the_next_leader_counts_on_is_never_ended_by_the_former_one(
    table: RadosTable, order: str, newer: FenceLeader
) -> None:
    late, is_confirmed = in_order(
        table, order, remove_fence(JOURNAL, ZONE, FIRST), confirm_fence(JOURNAL, ZONE, newer)
    )
    assert is_confirmed is (ZONE in fenced(table))
    assert late == (NewerLeader(FIRST, newer) if is_confirmed else None)


@pytest.mark.parametrize("order", ORDERS)
def test_a_domain_that_the_next_leader_released_stays_so(table: RadosTable, order: str) -> None:
    """Whatever the former one finds out too late."""
    in_order(
        table,
        order,
        write_fence(JOURNAL, ZONE, COMPLETE, FIRST),
        remove_fence(JOURNAL, ZONE, SECOND),
    )
    assert fenced(table) == []


def test_what_a_leader_wrote_of_one_domain_counts_for_all(table: RadosTable) -> None:
    assert table.run(write_fence(JOURNAL, OTHER, FenceState.BEGUN, SECOND)) is None
    assert table.run(remove_fence(JOURNAL, ZONE, FIRST)) == NewerLeader(FIRST, SECOND)
    assert table.run(confirm_fence(JOURNAL, ZONE, FIRST)) == NewerLeader(FIRST, SECOND)
    assert table.run(remove_fence(JOURNAL, ZONE, SECOND)) is None
    assert fenced(table) == [OTHER]


def test_leaders_of_other_leases_and_calls_without_one_are_not_compared(table: RadosTable) -> None:
    table.run(confirm_fence(JOURNAL, ZONE, SECOND))
    elsewhere = FIRST._replace(lease="storage/other")
    assert table.run(remove_fence(JOURNAL, ZONE, elsewhere)) is None
    assert fenced(table) == []
    assert table.run(write_fence(JOURNAL, ZONE, COMPLETE)) is None
    assert table.run(confirm_fence(JOURNAL, ZONE)) is True
    assert table.run(remove_fence(JOURNAL, ZONE)) is None
    assert table.run(remove_fence(JOURNAL, ZONE, FIRST)) == NewerLeader(FIRST, SECOND)


def test_only_a_complete_fence_is_confirmed(table: RadosTable) -> None:
    table.run(write_fence(JOURNAL, ZONE, FenceState.BEGUN, FIRST))
    assert table.run(confirm_fence(JOURNAL, ZONE, SECOND)) is False
    assert table.run(confirm_fence(JOURNAL, OTHER, SECOND)) is False
    assert table.run(confirm_fence(JOURNAL, ZONE)) is False


def test_a_journal_without_fences_stays_without_objects() -> None:
    table = RadosTable(pools=POOLS)
    assert table.run(remove_fence(JOURNAL, ZONE, FIRST)) is None
    assert table.run(confirm_fence(JOURNAL, ZONE, FIRST)) is False
    assert table.objects == {JOURNAL_POOL.name: {}}


def test_a_leader_that_a_newer_version_noted_is_not_overwritten(table: RadosTable) -> None:
    directory = table.objects[JOURNAL_POOL.name][DIRECTORY]
    for text in ("9", "tomorrow/9", "2030-01-31T00:00:00/9", "2030-01-31T00:00:00+00:00/x"):
        directory[LEADER + FIRST.lease] = text
        assert table.run(remove_fence(JOURNAL, ZONE, SECOND)) is JournalProblem.BAD_RECORD
        assert directory[LEADER + FIRST.lease] == text
    assert fenced(table) == [ZONE]
