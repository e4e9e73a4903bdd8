from collections.abc import Iterator
from dataclasses import replace

from plimsoll.api.meta import ObjectMeta
from plimsoll.api.storage import AttachmentSource, AttachmentSpec, VolumeAttachment
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.fencing import (
    Fencing,
    count_on_confirmed,
    decide_fencing,
    ended_fences,
    find_dependence,
    inherited_fences,
    wanted_fences,
)
from plimsoll.decide.ceph.takeover.objections import PoolCopies
from plimsoll.decide.ceph.takeover.takeover_map import TakeoverMap
from plimsoll.decide.ceph.takeover.view import TakeoverView
from tests.builders import a_claim, a_node, a_pod, a_volume

SERVES_B = "topology.d.org/serves.b"
DOMAINS = DomainLabels(driver="d.org", labels=("x/zone",))
A1, B1 = (a_node(f"{zone}1", labels={"x/zone": zone}) for zone in "ab")
SERVING = a_node("a1", labels={"x/zone": "a", SERVES_B: "true"})
VOLUME = a_volume("v", claim=a_claim("data"), reachable_from={SERVES_B: "true"})
VIEW = TakeoverView(domains=DOMAINS, nodes=(A1, B1), volumes=(VOLUME,))
TAKEN = replace(VIEW, takeover=TakeoverMap(targets_by_source={"b": ("a",)}))
ENDED = replace(VIEW, fenced=[("b",)])
GOOD = PoolCopies(pool="good", size=3, min_size=1, inside=2)
SINGLE = PoolCopies(pool="single", size=1, min_size=1, inside=1)
LOST = "Pool single cannot be taken over: its only copy would be lost with the domain."


def test_a_domain_of_the_map_is_fenced_once() -> None:
    assert decide_fencing(TAKEN, {("b",): (GOOD,)}) == Fencing(fence=(("b",),))
    assert wanted_fences(replace(TAKEN, fenced=[("b",)])) == ()
    assert wanted_fences(replace(TAKEN, closed=[("b",)])) == (("b",),)


def test_a_domain_of_which_no_pool_survives_is_not_fenced() -> None:
    assert decide_fencing(TAKEN, {("b",): (SINGLE,)}) == Fencing(refused={("b",): LOST})


def test_a_domain_of_which_some_pools_survive_is_fenced_and_the_others_are_told() -> None:
    decided = decide_fencing(TAKEN, {("b",): (GOOD, SINGLE)})
    assert decided == Fencing(fence=(("b",),), remarks={("b",): LOST})


def test_a_domain_that_left_the_map_is_released() -> None:
    assert decide_fencing(ENDED, {}) == Fencing(release=(("b",),))


def test_a_fence_of_a_former_leader_is_asked_for_or_confirmed_as_the_map_names_the_domain() -> None:
    fenced, both = [("b",), ("c",)], {("b",), ("c",)}
    taken = replace(TAKEN, fenced=fenced)
    assert inherited_fences(taken, set()) == (("b",),)
    assert ended_fences(taken, set()) == (("c",),)
    assert ended_fences(replace(VIEW, fenced=fenced), {("b",)}) == (("c",),)
    assert inherited_fences(taken, both) == ended_fences(taken, both) == ()
    assert ended_fences(replace(taken, fenced=(), closed=fenced), set()) == ()


def test_a_fence_that_is_not_confirmed_keeps_its_nodes_out_and_is_not_counted_on() -> None:
    view = replace(VIEW, fenced=[("b",), ("c",)], closed=[("d",)])
    counted = count_on_confirmed(view, {("c",), ("e",)})
    assert counted == replace(view, fenced=(("c",),), closed=(("d",), ("b",)))
    assert decide_fencing(counted, {}).release == decide_fencing(view, {}).release
    assert count_on_confirmed(view, {("b",), ("c",)}) == view
    silent = replace(VIEW, closed=None)
    assert count_on_confirmed(silent, set()) == silent


def test_a_fence_that_was_only_begun_is_ended_too() -> None:
    assert decide_fencing(replace(VIEW, closed=[("b",)]), {}).release == (("b",),)


def test_nothing_is_released_while_the_map_is_not_understood() -> None:
    assert decide_fencing(replace(ENDED, map_problem="not JSON"), {}) == Fencing()


def test_nothing_is_released_while_another_node_serves_it() -> None:
    view = replace(ENDED, nodes=(SERVING, B1))
    assert decide_fencing(view, {}) == Fencing(waiting={("b",): "nodes a1 still serve it"})


def test_nothing_is_released_while_pods_elsewhere_use_its_volumes() -> None:
    pods = tuple(a_pod(f"db-{number}", claims=["data"], node="a1") for number in range(5))
    assert find_dependence(replace(ENDED, pods=pods), ("b",)) == (
        "pods default/db-0, default/db-1, default/db-2 and 2 more use volumes of it elsewhere"
    )
    at_home = (a_pod("db-0", claims=["data"], node="b1"),)
    assert find_dependence(replace(ENDED, pods=at_home), ("b",)) == ""


def test_nothing_is_released_while_its_volumes_are_attached_elsewhere() -> None:
    def attached(node: str) -> VolumeAttachment:
        source = AttachmentSource(persistent_volume_name="v")
        spec = AttachmentSpec(attacher="d.org", node_name=node, source=source)
        return VolumeAttachment(metadata=ObjectMeta(name="at"), spec=spec)

    view = replace(ENDED, attachments=(attached("a1"),))
    assert find_dependence(view, ("b",)) == "volumes v of it are attached elsewhere"
    assert find_dependence(replace(ENDED, attachments=(attached("b1"),)), ("b",)) == ""


def test_a_wider_fence_that_stays_lets_a_narrower_one_go() -> None:
    racks = DomainLabels(driver="d.org", labels=("x/zone", "x/rack"))
    serves = {SERVES_B: "true", f"{SERVES_B}.r1": "true"}
    node = a_node("a1", labels={"x/zone": "a", "x/rack": "r1"} | serves)
    view = TakeoverView(
        domains=racks,
        nodes=(node,),
        takeover=TakeoverMap(targets_by_source={"b": ("a",)}),
        fenced=[("b",), ("b", "r1")],
    )
    assert decide_fencing(view, {}).release == (("b", "r1"),)


def test_a_zone_and_a_rack_of_it_that_are_given_back_together_both_wait() -> None:
    racks = DomainLabels(driver="d.org", labels=("x/zone", "x/rack"))
    serving = a_node("a1", labels={"x/zone": "a", "x/rack": "r1", f"{SERVES_B}.r1": "true"})
    view = TakeoverView(domains=racks, nodes=(serving,), fenced=[("b",), ("b", "r1")])
    decided = decide_fencing(view, {})
    assert decided.release == ()
    assert decided.waiting == dict.fromkeys(view.fenced, "nodes a1 still serve it")
    released = decide_fencing(replace(view, nodes=(A1,)), {}).release
    assert released == (("b",), ("b", "r1"))


class CountedVolumes(list[PersistentVolume]):
    times_read = 0

    def __iter__(self) -> Iterator[PersistentVolume]:
        self.times_read += 1
        return super().__iter__()


def test_all_volumes_are_read_as_often_for_many_domains_as_for_one() -> None:
    one, many = CountedVolumes((VOLUME,)), CountedVolumes((VOLUME,))
    decide_fencing(replace(VIEW, volumes=one, fenced=[("b",)]), {})
    decide_fencing(replace(VIEW, volumes=many, fenced=[(name,) for name in "bcdefgh"]), {})
    assert many.times_read == one.times_read
