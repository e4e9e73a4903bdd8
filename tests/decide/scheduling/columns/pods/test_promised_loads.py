from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.nodes import NodeIndex
from plimsoll.decide.scheduling.columns.pods.index import PlacedDemands
from plimsoll.decide.scheduling.columns.pods.nominations import Nominations
from plimsoll.decide.scheduling.columns.pods.promised_loads import PromisedLoads
from tests.builders import a_pod
from tests.decide.scheduling.builders import ranked

GPU = "example.com/gpu"


def waiting(name: str, priority: int, **requests: str) -> Pod:
    return ranked(a_pod(name, requests=requests), priority, nominated="node-1")


def test_what_promised_pods_take_is_summed_up_by_node() -> None:
    nominations, index = Nominations(), NodeIndex()
    index.add("node-1")
    loads = PromisedLoads(nominations, PlacedDemands())
    nominations.put(waiting("a", 10, cpu="1"))
    nominations.put(waiting("b", 20, cpu="2", **{GPU: "1"}))

    for priority, pods, cpu in ((10, 2, 3000), (11, 1, 2000)):
        slots, usual = loads.of(priority).slots_and_usual(index, 0)
        assert slots.tolist() == [0]
        assert usual[:2, 0].tolist() == [pods, cpu]
        assert loads.of(priority).held_of(GPU, index).tolist() == [1]
    assert len(loads.of(21)) == 0


def test_sums_follow_every_promise() -> None:
    nominations = Nominations()
    promised = PromisedLoads(nominations, PlacedDemands()).of(0)
    pod = waiting("a", 10, cpu="1")
    nominations.put(pod)
    promised.refresh()
    assert promised.load_on("node-1")

    nominations.nominate(pod, "node-2")
    promised.refresh()
    assert promised.load_on("node-1") is None
    assert promised.load_on("node-2")

    nominations.remove(pod.key)
    promised.refresh()
    assert len(promised) == 0


def test_a_pod_that_does_more_than_take_resources_is_told_apart() -> None:
    nominations = Nominations()
    nominations.put(ranked(a_pod("a", claims=["data"]), 1, nominated="node-1"))

    promised = PromisedLoads(nominations, PlacedDemands()).of(0)

    assert promised.others == {"node-1"}
    assert promised.load_on("node-1") is None
