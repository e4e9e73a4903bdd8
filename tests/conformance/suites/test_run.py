"""What the suites of Kubernetes print is counted."""

from conformance.suites.run import read_outcome

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
