from plimsoll.decide.scheduling.columns.changes import REMEMBERED, ChangeLog, KeptResult


def test_whoever_looks_is_told_what_changed_since() -> None:
    log = ChangeLog()
    log.mark(1)
    position = log.position
    log.mark(2)
    log.mark(2)

    assert log.since(position) == {2}
    assert log.since(log.position) == set()


def test_whoever_looks_too_late_has_to_expect_anything() -> None:
    log = ChangeLog()
    for number in range(REMEMBERED + 1):
        log.mark(number)

    assert log.since(0) is None
    assert log.since(log.position - 1) == {REMEMBERED}


def test_a_forked_log_goes_its_own_way() -> None:
    log = ChangeLog()
    log.mark(1)
    fork = log.fork()
    fork.mark(2)

    assert log.since(0) == {1}
    assert fork.since(0) == {1, 2}


def test_results_are_made_once_and_the_oldest_make_room() -> None:
    made: list[int] = []
    kept: KeptResult[int, int] = KeptResult(2)

    def make(number: int) -> int:
        made.append(number)
        return number

    for number in (1, 1, 2, 3, 1):
        kept.get(number, lambda number=number: make(number))  # type: ignore[misc]  # bound now

    assert made == [1, 2, 3, 1]
    assert len(kept) == 2
