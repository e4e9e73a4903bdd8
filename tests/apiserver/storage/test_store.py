"""What every store promises, whatever it is made of."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plimsoll.apiserver.storage.sqlite_store import SqliteStore
from plimsoll.apiserver.storage.store import LogRow, LogStore, MemoryStore

ROWS = [
    LogRow(1, "configmaps", "default/a", b'{"a":1}'),
    LogRow(2, "configmaps", "default/a", b'{"a":2}'),
    LogRow(3, "secrets", "default/b", b"{}"),
    LogRow(4, "secrets", "default/b", None),
]

Reopen = Callable[[], LogStore]


@pytest.fixture(params=["memory", "sqlite"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    """The same store again, as the next life of a server finds it."""
    opened: list[LogStore] = []

    def open_again() -> LogStore:
        if request.param == "memory":
            opened.append(opened[0] if opened else MemoryStore())
        else:
            if opened:
                opened[-1].close()
            opened.append(SqliteStore(tmp_path / "log.db"))
        return opened[-1]

    yield open_again
    opened[-1].close()


def test_rows_come_back_as_they_were_in_the_order_of_their_revisions(reopen: Reopen) -> None:
    store = reopen()
    store.append(ROWS[:3])
    store.append(ROWS[3:])
    assert list(store.load()) == ROWS
    again = reopen()
    assert list(again.load()) == ROWS
    assert (again.newest, again.compacted) == (4, 0)


def test_compaction_takes_the_named_rows_and_no_others(reopen: Reopen) -> None:
    store = reopen()
    store.append(ROWS)
    store.compact(4, [1, 3, 4])
    again = reopen()
    assert list(again.load()) == [ROWS[1]]
    assert (again.newest, again.compacted) == (4, 4)


def test_the_newest_revision_is_remembered_when_its_row_is_gone(reopen: Reopen) -> None:
    store = reopen()
    store.append(ROWS)
    store.compact(3, [3, 4])
    again = reopen()
    assert again.newest == 4
    again.append([LogRow(5, "secrets", "default/c", b"{}")])
    assert reopen().newest == 5


def test_rows_that_are_gone_already_can_be_compacted_again(reopen: Reopen) -> None:
    store = reopen()
    store.append(ROWS)
    store.compact(2, [1])
    store.compact(4, [1, 3, 4])
    assert list(reopen().load()) == [ROWS[1]]
