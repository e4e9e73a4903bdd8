from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import Judge
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.rule_fit import Rejected
from tests.decide.scheduling.builders import flags_by_node
from tests.decide.scheduling.columns.clusters import (
    Chance,
    a_new_pod,
    a_random_cluster,
    an_object,
    by_identity,
    seeds,
)

Verdicts = dict[str, tuple[int, int, int]] | Rejected


def verdicts(judge: Judge, pod: Pod) -> Verdicts:
    """By name of the node: flags, static matches and, where it would do, the score."""
    judged, index = judge.judge(pod), judge.columns.index
    if isinstance(judged, Rejected):
        return judged
    totals = judged.totals()
    return {
        name: (
            int(judged.flags[slot]),
            0 if judged.delayed is None else int(judged.delayed.statics[slot]),
            0 if judged.flags[slot] else int(totals[slot]),
        )
        for slot, name in enumerate(index.names)
        if name
    }


class ColumnsFollowTheCluster(RuleBasedStateMachine):
    """Whatever comes, changes and goes: columns that followed it, with all that they keep, answer
    like columns that were just made."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[tuple[type[ApiObject], str], ApiObject] = {}
        self.columns = Columns()
        self.judge = Judge(self.columns)
        self.probes = [a_new_pod(Chance(number)) for number in range(4)]

    def put(self, object_: ApiObject) -> None:
        self.objects[type(object_), str(object_.key)] = object_
        self.columns.put(object_)

    @rule(seed=seeds)
    def a_cluster_appears(self, seed: int) -> None:
        for object_ in a_random_cluster(Chance(seed)):
            self.put(object_)

    @rule(seed=seeds)
    def something_comes_or_changes(self, seed: int) -> None:
        self.put(an_object(Chance(seed)))

    @rule(seed=seeds)
    def something_goes(self, seed: int) -> None:
        if self.objects:
            key = Chance(seed).choice(sorted(self.objects, key=str))
            self.columns.remove(self.objects.pop(key))

    @rule(seed=seeds)
    def other_pods_wait(self, seed: int) -> None:
        chance = Chance(seed)
        self.probes = [a_new_pod(chance, self.objects.values()) for _ in range(4)]

    @invariant()
    def they_answer_like_new_ones(self) -> None:
        new = Judge(Columns.of(self.objects.values()))
        for pod in self.probes:
            assert verdicts(self.judge, pod) == verdicts(new, pod)

    @invariant()
    def nothing_is_left_of_what_is_gone(self) -> None:
        new = Columns.of(self.objects.values())
        assert len(self.columns.segments) == len(new.segments)
        assert len(self.columns.index) == len(new.index)


ColumnsFollowTheCluster.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None
)
TestColumnsFollowTheCluster = ColumnsFollowTheCluster.TestCase


@given(seed=seeds)
@settings(max_examples=150, deadline=None)
def test_a_fork_and_its_origin_do_not_see_each_others_changes(seed: int) -> None:
    chance = Chance(seed)
    objects = a_random_cluster(chance)
    pods = [a_new_pod(chance, objects) for _ in range(3)]
    origin = Kernel(Columns.of(objects))
    before = [flags_by_node(origin, pod) for pod in pods]
    fork = origin.fork()
    assert [flags_by_node(fork, pod) for pod in pods] == before

    changes = [an_object(chance) for _ in range(10)]
    gone = chance.some(objects, most=5)
    for object_ in changes:
        fork.columns.put(object_)
    for object_ in gone:
        fork.columns.remove(object_)

    assert [flags_by_node(origin, pod) for pod in pods] == before
    lost = {(type(each), each.key) for each in gone}
    kept = [e for e in by_identity([*objects, *changes]) if (type(e), e.key) not in lost]
    expected = Kernel(Columns.of(kept))
    assert [flags_by_node(fork, pod) for pod in pods] == [flags_by_node(expected, p) for p in pods]
    for object_ in changes:
        origin.columns.put(object_)
    assert [flags_by_node(fork, pod) for pod in pods] == [flags_by_node(expected, p) for p in pods]


def test_kinds_that_scheduling_does_not_look_at_are_ignored() -> None:
    columns = Columns()

    columns.put(ApiObject())
    columns.remove(ApiObject())

    assert len(columns.index) == 0
