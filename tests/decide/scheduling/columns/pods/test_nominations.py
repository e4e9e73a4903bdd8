from plimsoll.decide.scheduling.columns.pods.nominations import Nominations
from tests.builders import a_pod
from tests.decide.scheduling.builders import ranked


def test_a_pod_counts_on_the_node_that_its_status_names() -> None:
    nominations, waiting = Nominations(), ranked(a_pod("first"), 10, nominated="node-1")
    nominations.put(waiting)

    assert nominations.nodes() == ["node-1"]
    assert nominations.counted_for(ranked(a_pod("second"), 10), "node-1") == [waiting]
    assert nominations.counted_for(ranked(a_pod("second"), 10), "node-2") == []


def test_it_counts_neither_for_itself_nor_for_a_more_important_pod() -> None:
    nominations, waiting = Nominations(), ranked(a_pod("first"), 10, nominated="node-1")
    nominations.put(waiting)

    assert nominations.counted_for(waiting, "node-1") == []
    assert nominations.counted_for(ranked(a_pod("second"), 11), "node-1") == []


def test_what_was_decided_counts_until_the_status_says_something_new() -> None:
    nominations, waiting = Nominations(), ranked(a_pod(), 10)
    nominations.put(waiting)
    nominations.nominate(waiting, "node-1")

    nominations.put(waiting)
    assert nominations.node_of(waiting) == "node-1"

    nominations.put(ranked(a_pod(), 10, nominated="node-2"))
    assert nominations.nodes() == ["node-2"]


def test_a_pod_that_waits_no_longer_is_promised_nothing() -> None:
    nominations, waiting = Nominations(), ranked(a_pod(), 10, nominated="node-1")
    nominations.put(waiting)
    twin = nominations.fork()

    nominations.remove(waiting.key)

    assert nominations.nodes() == []
    assert twin.nodes() == ["node-1"]


def test_a_promise_can_be_taken_back_before_the_watch_shows_that() -> None:
    nominations, waiting = Nominations(), ranked(a_pod(), 10, nominated="node-1")
    nominations.put(waiting)

    nominations.nominate(waiting, "")

    assert nominations.node_of(waiting) == ""


def test_another_set_of_promises_takes_over_what_was_decided_and_is_not_written_yet() -> None:
    decided, taken_back = ranked(a_pod("first"), 10), ranked(a_pod("second"), 10, nominated="b")
    nominations, rebuilt = Nominations(), Nominations()
    for waiting in (decided, taken_back):
        nominations.put(waiting)
    nominations.nominate(decided, "a")
    nominations.nominate(taken_back, "")

    rebuilt.take_over(nominations)

    assert rebuilt.nodes() == ["a"]
    assert rebuilt.on("a") == [decided]
    assert rebuilt.node_of(taken_back) == ""
