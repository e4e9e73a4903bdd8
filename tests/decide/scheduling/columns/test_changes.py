from plimsoll.decide.scheduling.columns.changes import REMEMBERED, ChangeLog, KeptResults


def test_a_reader_is_told_what_changed_since_it_last_looked() -> None:
    log = ChangeLog()
    log.mark(1)
    position = log.position
    log.mark(2)
    log.mark(2)

    assert log.since(position) == {2}
    assert log.since(log.position) == set()


def test_a_reader_that_looks_too_late_has_to_expect_anything() -> None:
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


def test_the_newest_results_are_kept_and_the_oldest_forgotten() -> None:
    kept: KeptResults[int, str] = KeptResults(2)

    for number in (1, 1, 2, 3):
        assert kept.keep(number, str(number)) == str(number)

    assert kept == {2: "2", 3: "3"}
