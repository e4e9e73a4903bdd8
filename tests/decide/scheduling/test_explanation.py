from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.explanation import explain
from plimsoll.decide.scheduling.flags import RULES
from plimsoll.decide.scheduling.reasons import Reason, Rule
from tests.builders import HOSTNAME, a_capacity, a_claim, a_class, a_driver, a_node, a_pod

GIB = 2**30


def test_every_rule_is_asked_and_numbers_come_with_the_reasons() -> None:
    node = a_node(cpu="1")
    capacity = a_capacity(segment={HOSTNAME: "node-1"}, gib=3)
    objects = [node, a_class(), a_driver(), capacity, a_claim("data", gib=5)]
    pod = a_pod(claims=["data"], requests={"cpu": "2"})

    explanation = explain(pod, node, Columns.of(objects))

    assert tuple(explanation.judgements) == RULES
    assert not explanation.is_fit
    found = {f.reason: (f.wanted, f.seen) for f in explanation.findings}
    assert found == {
        Reason.INSUFFICIENT_RESOURCE: (2000, 1000),
        Reason.CAPACITY_TOO_SMALL: (5 * GIB, 3 * GIB),
    }
    assert explanation.judgements[Rule.VOLUME_ZONE].is_fit
