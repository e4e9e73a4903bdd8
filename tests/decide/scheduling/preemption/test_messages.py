from plimsoll.decide.scheduling.preemption.messages import no_candidate_text, placement_text
from plimsoll.decide.scheduling.preemption.victims import NO_VICTIMS


def test_nodes_that_were_not_worth_trying_are_counted_together() -> None:
    assert no_candidate_text([NO_VICTIMS], 3) == (
        "preemption: 0/3 nodes are available: "
        "1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )


def test_a_placement_tells_the_node_and_the_number_of_victims() -> None:
    assert placement_text("node-1", 2) == (
        "preemption: found a potential placement for pod on node node-1, preempting 2 victims"
    )
