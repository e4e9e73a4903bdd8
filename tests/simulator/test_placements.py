"""Each check of the places of pods can fail, and lets pass what no scheduler could have known."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from plimsoll.api.registry import Document
from plimsoll.simulator.cluster.shape import ZONE
from plimsoll.simulator.engine.loop import VirtualLoop
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.simulator.placements import STALE_SECONDS, PlacementWatch
from plimsoll.simulator.scenario.actions import CreatePods
from plimsoll.simulator.scenario.placement_rules import PlacedPods, with_rules
from plimsoll.wire.transport import Request, Response

NODES: dict[str, Document] = {
    name: {"metadata": {"name": name, "labels": {ZONE: name[-1]}}} for name in ("in-a", "in-b")
}
PODS = "/api/v1/namespaces/default/pods"
DONE, UNKNOWN = Response(status=201), None
ANYWHERE = CreatePods(at=0.0, name="web")
APART = CreatePods(at=0.0, name="web", apart="zone")
SPREAD = CreatePods(at=0.0, name="web", spread="zone")


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    with closing(VirtualLoop()) as made:
        yield made


class SeenPods:
    """What a watch of placements is told of pods, and of the scheduler that places them."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.watch = PlacementWatch()
        self.scheduler = SimulatedProcess(loop, "scheduler-0")
        self.other = SimulatedProcess(loop, "scheduler-1")
        self.pods: dict[str, Document] = {}
        self.watch.node_changed(NODES, has_pods=False)

    def wait(self, name: str, rules: PlacedPods, priority: int = 0) -> Document:
        spec = with_rules({"priority": priority}, rules)
        metadata = {"name": name, "namespace": "default", "uid": name, "labels": {"app": "web"}}
        self.pods[f"default/{name}"] = pod = {"metadata": metadata, "spec": spec}
        self.watch.pod_changed(0.0, pod, self.pods, is_gone=False)
        return pod

    def place(
        self,
        name: str,
        node: str,
        rules: PlacedPods,
        *,
        by: SimulatedProcess | None = None,
        answer: Response | None = DONE,
    ) -> Document:
        scheduler, pod = by or self.scheduler, self.wait(name, rules)
        request = Request(method="POST", path=f"{PODS}/{name}/binding")
        self.watch.written(0.0, scheduler, request, self.pods)
        pod = {**pod, "spec": {**pod["spec"], "nodeName": node}}
        self.pods[f"default/{name}"] = pod
        self.watch.pod_changed(0.0, pod, self.pods, is_gone=False)
        self.watch.answered(scheduler, request, answer, self.pods)
        return pod

    def near(self, pod: Document) -> list[str]:
        return [*self.watch.too_near(pod, self.pods, NODES)]

    def skew(self, pod: Document) -> list[str]:
        return [*self.watch.skew(pod, self.pods, NODES)]

    def evict(self, name: str, now: float = 0.0) -> str | None:
        request = Request(method="DELETE", path=f"{PODS}/{name}")
        return self.watch.written(now, self.scheduler, request, self.pods)


@pytest.fixture
def seen(loop: VirtualLoop) -> SeenPods:
    return SeenPods(loop)


@pytest.mark.parametrize(
    ("first", "second"), [(APART, ANYWHERE), (ANYWHERE, APART)], ids=["the-first", "the-second"]
)
def test_a_pod_is_near_another_if_one_of_them_avoids_it(
    seen: SeenPods, first: PlacedPods, second: PlacedPods
) -> None:
    seen.place("web-0", "in-a", first)
    assert seen.near(seen.place("web-1", "in-b", second)) == []
    (told,) = seen.near(seen.place("web-2", "in-a", second))
    assert "web-0" in told
    assert "web-2" in told


def test_what_a_scheduler_does_not_know_is_not_held_against_it(seen: SeenPods) -> None:
    seen.place("web-0", "in-a", APART, by=seen.other)
    seen.place("web-1", "in-a", APART, answer=UNKNOWN)
    assert seen.near(seen.place("web-2", "in-a", APART)) == []


def test_a_zone_may_have_one_pod_more_than_another_and_not_two(seen: SeenPods) -> None:
    assert seen.skew(seen.place("web-0", "in-a", SPREAD)) == []
    assert seen.skew(seen.place("web-1", "in-a", SPREAD)) == ["pod web-1 went to a: a 2, b 0"]


def test_no_skew_is_told_after_a_pod_has_left_or_while_two_wait(seen: SeenPods) -> None:
    seen.place("web-0", "in-a", SPREAD)
    seen.wait("web-2", SPREAD)
    assert seen.skew(seen.place("web-1", "in-a", SPREAD)) == []


def test_pods_leave_for_more_important_ones_alone(seen: SeenPods) -> None:
    seen.place("web-0", "in-a", ANYWHERE)
    seen.wait("web-1", ANYWHERE)
    assert "web-0" in (seen.evict("web-0") or "")
    urgent = seen.wait("web-2", ANYWHERE, priority=1)
    assert seen.evict("web-0") is None
    seen.watch.pod_changed(5.0, urgent, seen.pods, is_gone=True)
    assert seen.evict("web-0", now=10.0) is None
    assert seen.evict("web-0", now=10.0 + STALE_SECONDS)
