"""What the suites of Kubernetes print is counted."""

from conformance.suites.report import report
from conformance.suites.run import read_outcome, told_by

PRINTED = """\
=== RUN   TestAlone
--- PASS: TestAlone (1.00s)
=== RUN   TestMadeOfOthers
=== RUN   TestMadeOfOthers/good
=== RUN   TestMadeOfOthers/NodePorts/bad
=== RUN   TestMadeOfOthers/plugins
    zz_plimsoll_scheduler.go:35: not for a scheduler in a process of its own: plugins
--- FAIL: TestMadeOfOthers (3.00s)
    --- PASS: TestMadeOfOthers/good (1.00s)
    --- FAIL: TestMadeOfOthers/NodePorts/bad (1.00s)
    --- SKIP: TestMadeOfOthers/plugins (1.00s)
=== RUN   TestBroken
--- FAIL: TestBroken (1.00s)
=== RUN   TestWithoutEnd
"""


def test_a_test_counts_unless_it_is_made_of_others() -> None:
    outcome = read_outcome(PRINTED)
    assert outcome.passed == ["TestAlone", "TestMadeOfOthers/good"]
    assert outcome.failed == ["TestMadeOfOthers/NodePorts/bad", "TestBroken"]
    assert outcome.skipped == {"TestMadeOfOthers/plugins": "plugins"}
    assert outcome.unfinished == ["TestWithoutEnd"]
    assert not outcome.is_good


def test_one_broken_test_is_enough() -> None:
    assert read_outcome("--- PASS: TestAlone (1.00s)\n").is_good
    assert not read_outcome("--- FAIL: TestAlone (1.00s)\n").is_good


SAID = """\
=== RUN   TestOne
    one_test.go:1: of one
=== RUN   TestTwo
    two_test.go:1: of two
=== NAME  TestOne
    one_test.go:2: more of one
--- FAIL: TestOne (1.00s)
    one_test.go:3: of nobody
"""


def test_what_a_test_has_said_is_found_among_the_words_of_others() -> None:
    assert "of one" in told_by("TestOne", SAID, 10)
    assert "more of one" in told_by("TestOne", SAID, 10)
    assert "of two" not in told_by("TestOne", SAID, 10)
    assert "of nobody" not in told_by("TestOne", SAID, 10)
    assert told_by("TestOne", SAID, 1) == "    one_test.go:2: more of one"
    assert told_by("the program", "words\nlast words", 1) == "last words"


def test_a_program_that_fails_without_a_test_that_failed_is_not_good() -> None:
    outcome = read_outcome("--- PASS: TestAlone (1.00s)\n", exit_code=3)
    assert outcome.unfinished == ["the program, with exit code 3"]
    assert not outcome.is_good
    assert read_outcome(PRINTED, exit_code=1).unfinished == ["TestWithoutEnd"]


def test_what_did_not_run_is_told_with_its_reason() -> None:
    lines = list(report("volume", read_outcome(PRINTED), {"TestGate": "a gate that is off"}))
    assert lines == [
        "volume: 2 passed, 2 failed, 1 did not end, 1 skipped",
        "  not passed: TestMadeOfOthers/NodePorts/bad",
        "  not passed: TestBroken",
        "  not passed: TestWithoutEnd",
        "  skipped: TestMadeOfOthers/plugins: plugins",
        "  left out: TestGate: a gate that is off",
    ]
