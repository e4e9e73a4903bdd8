"""Who is tried when."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from plimsoll.api.pods import Pod, SchedulingGate
from plimsoll.decide.scheduling.flags import AnyRule, NodeRule
from plimsoll.decide.scheduling.reasons import Rule
from plimsoll.processes.scheduler.queue import SWEEP_AFTER, SchedulingQueue
from plimsoll.processes.scheduler.waiting import QueuePlace
from tests.builders import a_pod

NOW = datetime(2024, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
VOLUMES = frozenset({Rule.VOLUME_BINDING})
ROOM = frozenset({NodeRule.RESOURCES})


def prior(pod: Pod, priority: int) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, priority=priority))


def gated(pod: Pod) -> Pod:
    gates = (SchedulingGate(name="not-yet"),)
    spec = msgspec.structs.replace(pod.spec, scheduling_gates=gates)
    return msgspec.structs.replace(pod, spec=spec)


def with_note(pod: Pod) -> Pod:
    """As it comes back after its status was written."""
    status = msgspec.structs.replace(pod.status, message="no node would do")
    return msgspec.structs.replace(pod, status=status)


def helps_with(*rules: AnyRule) -> Callable[[Pod, AnyRule], bool]:
    return lambda _pod, rule: rule in rules


def names(queue: SchedulingQueue, now: datetime) -> list[str]:
    """All that can be tried now, in turn."""
    found = []
    while entry := queue.pop(now):
        found.append(entry.pod.name)
    return found


def refused(
    rules: frozenset[AnyRule], *, times: int = 1, pod: Pod | None = None
) -> SchedulingQueue:
    """A queue with one pod that these rules turned away, now."""
    queue = SchedulingQueue()
    queue.put(pod or a_pod(), NOW)
    for _ in range(times):
        entry = queue.pop(NOW)
        assert entry is not None
        queue.refuse(entry, rules, NOW)
        if _ < times - 1:
            queue.wake(helps_with(*rules), NOW)
    return queue


def place_of(queue: SchedulingQueue) -> QueuePlace:
    entry = queue.find(a_pod().key)
    assert entry is not None
    return entry.place


def test_pods_go_by_priority_and_then_by_the_time_they_came() -> None:
    queue = SchedulingQueue()
    queue.put(a_pod("late"), NOW + SECOND)
    queue.put(a_pod("early"), NOW)
    queue.put(prior(a_pod("important"), 10), NOW + 2 * SECOND)
    assert names(queue, NOW + 3 * SECOND) == ["important", "early", "late"]


def test_a_pod_with_gates_waits_until_they_are_gone() -> None:
    queue = SchedulingQueue()
    queue.put(gated(a_pod()), NOW)
    assert names(queue, NOW) == []
    assert queue.counts()[QueuePlace.GATED] == 1
    queue.put(a_pod(), NOW + SECOND)
    assert names(queue, NOW + SECOND) == ["web-0"]


def test_a_refused_pod_is_left_alone_by_what_does_not_help_it() -> None:
    queue = refused(VOLUMES)
    assert queue.wake(helps_with(NodeRule.RESOURCES), NOW + 60 * SECOND) == 0
    assert names(queue, NOW + 60 * SECOND) == []


def test_a_change_that_helps_brings_it_back_once_its_pause_is_over() -> None:
    queue = refused(VOLUMES)
    assert queue.wake(helps_with(Rule.VOLUME_BINDING), NOW + 60 * SECOND) == 1
    assert names(queue, NOW + 60 * SECOND) == ["web-0"]


def test_woken_in_its_pause_a_pod_lets_others_go_first() -> None:
    queue = refused(VOLUMES)
    queue.wake(helps_with(Rule.VOLUME_BINDING), NOW)
    assert place_of(queue) is QueuePlace.BACKOFF
    queue.put(a_pod("other"), NOW)
    entry = queue.pop(NOW)
    assert entry is not None
    assert entry.pod.name == "other"


def test_no_pod_waits_out_a_pause_while_there_is_nothing_else_to_do() -> None:
    queue = refused(VOLUMES)
    queue.wake(helps_with(Rule.VOLUME_BINDING), NOW)
    assert names(queue, NOW) == ["web-0"]


def test_after_an_error_the_pause_is_waited_out() -> None:
    queue = SchedulingQueue()
    queue.put(a_pod(), NOW)
    entry = queue.pop(NOW)
    assert entry is not None
    queue.fail(entry, NOW)
    assert names(queue, NOW) == []
    due = queue.next_due()
    assert due == NOW + 2 * SECOND
    assert names(queue, due) == ["web-0"]


@pytest.mark.parametrize(
    ("attempts", "seconds"),
    [(1, 2), (2, 3), (3, 5), (4, 9), (5, 11), (9, 11)],
)
def test_pauses_grow_to_ten_seconds(attempts: int, seconds: int) -> None:
    """Ends are in whole seconds: a pause of one second is over when the next has begun."""
    queue = refused(VOLUMES, times=attempts)
    queue.wake(helps_with(Rule.VOLUME_BINDING), NOW)
    assert queue.next_due() == NOW + seconds * SECOND


def test_every_pod_is_tried_again_after_five_minutes() -> None:
    queue = refused(VOLUMES)
    assert queue.next_due() == NOW + SWEEP_AFTER
    assert names(queue, NOW + SWEEP_AFTER - SECOND) == []
    assert names(queue, NOW + SWEEP_AFTER) == ["web-0"]


def test_a_note_in_its_status_does_not_wake_a_pod() -> None:
    queue = refused(ROOM)
    queue.put(with_note(a_pod()), NOW + 60 * SECOND)
    assert place_of(queue) is QueuePlace.UNSCHEDULABLE


def test_a_pod_that_asks_for_less_is_tried_again_where_room_was_missing() -> None:
    queue = refused(ROOM, pod=a_pod(requests={"cpu": "2"}))
    queue.put(a_pod(requests={"cpu": "1"}), NOW + 60 * SECOND)
    assert names(queue, NOW + 60 * SECOND) == ["web-0"]


@pytest.mark.parametrize(
    ("rules", "after"),
    [
        pytest.param(ROOM, a_pod(requests={"cpu": "3"}), id="it-asks-for-more"),
        pytest.param(ROOM, a_pod(requests={"cpu": "2"}, labels={"a": "b"}), id="of-no-concern"),
        pytest.param(VOLUMES, a_pod(requests={"cpu": "1"}), id="of-no-concern-to-its-volumes"),
    ],
)
def test_a_change_of_its_own_that_cannot_help_does_not_wake_a_pod(
    rules: frozenset[AnyRule], after: Pod
) -> None:
    queue = refused(rules, pod=a_pod(requests={"cpu": "2"}))
    queue.put(after, NOW + 60 * SECOND)
    assert place_of(queue) is QueuePlace.UNSCHEDULABLE


def test_a_pod_is_woken_for_what_it_asks_now() -> None:
    queue = refused(ROOM, pod=a_pod(requests={"cpu": "2"}))
    queue.put(a_pod(requests={"cpu": "3"}), NOW)
    large = a_pod(requests={"cpu": "3"})
    assert queue.wake(lambda pod, _rule: pod == large, NOW) == 1


def test_a_rule_is_asked_once_for_pods_that_are_alike() -> None:
    queue = SchedulingQueue()
    for number in range(3):
        queue.put(a_pod(f"web-{number}"), NOW)
    queue.put(a_pod("large", requests={"cpu": "9"}), NOW)
    while entry := queue.pop(NOW):
        queue.refuse(entry, ROOM | VOLUMES, NOW)
    asked: list[tuple[str, AnyRule]] = []

    def helps(pod: Pod, rule: AnyRule) -> bool:
        asked.append((pod.name, rule))
        return rule is NodeRule.RESOURCES and pod.name != "large"

    assert queue.wake(helps, NOW + 60 * SECOND, rules=ROOM) == 3
    assert asked == [("web-0", NodeRule.RESOURCES), ("large", NodeRule.RESOURCES)]
    assert names(queue, NOW + 60 * SECOND) == ["web-0", "web-1", "web-2"]
    assert queue.unschedulable_by_rule()[NodeRule.RESOURCES, "default-scheduler"] == 1


def test_a_pod_that_is_gone_is_forgotten_even_in_the_middle_of_its_attempt() -> None:
    queue = SchedulingQueue()
    queue.put(a_pod(), NOW)
    entry = queue.pop(NOW)
    assert entry is not None
    queue.remove(entry.key)
    queue.fail(entry, NOW)
    assert sum(queue.counts().values()) == 0
    assert names(queue, NOW + 60 * SECOND) == []


def test_a_namesake_starts_from_the_beginning() -> None:
    queue = refused(VOLUMES)
    fresh = msgspec.structs.replace(
        a_pod(), metadata=msgspec.structs.replace(a_pod().metadata, uid="another")
    )
    queue.put(fresh, NOW)
    entry = queue.pop(NOW)
    assert entry is not None
    assert (entry.pod.uid, entry.attempts) == ("another", 1)


def test_it_can_be_told_which_rules_turned_pods_away() -> None:
    queue = refused(VOLUMES | ROOM)
    counted = {rule for (rule, _), number in queue.unschedulable_by_rule().items() if number}
    assert counted == {Rule.VOLUME_BINDING, NodeRule.RESOURCES}
    queue.remove(a_pod().key)
    assert not any(queue.unschedulable_by_rule().values())


NAMES = st.sampled_from(["a", "b", "c", "d"])


class EveryPodIsSomewhere(RuleBasedStateMachine):
    """Whatever happens, a pod that is there is in one place, and is tried again some day."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = SchedulingQueue()
        self.now = NOW
        self.there: dict[str, Pod] = {}
        self.in_hand: dict[str, object] = {}

    @rule(name=NAMES, priority=st.integers(0, 2), is_gated=st.booleans())
    def put(self, name: str, priority: int, *, is_gated: bool) -> None:
        pod = prior(a_pod(name), priority)
        if is_gated and name not in self.there:
            pod = gated(pod)
        self.there[name] = pod
        self.queue.put(pod, self.now)

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.there.pop(name, None)
        self.queue.remove(a_pod(name).key)

    @rule(how=st.sampled_from(["refuse", "fail", "bind"]))
    def attempt(self, how: str) -> None:
        entry = self.queue.pop(self.now)
        if entry is None:
            return
        if how == "refuse":
            self.queue.refuse(entry, VOLUMES, self.now)
        elif how == "fail":
            self.queue.fail(entry, self.now)
        else:
            self.there.pop(entry.pod.name)
            self.queue.remove(entry.key)

    @rule(seconds=st.integers(0, 400))
    def let_time_pass(self, seconds: int) -> None:
        self.now += seconds * SECOND

    @rule(what=st.sampled_from([Rule.VOLUME_BINDING, NodeRule.RESOURCES]))
    def change(self, what: AnyRule) -> None:
        self.queue.wake(helps_with(what), self.now)

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        counts = self.queue.counts()
        assert sum(counts.values()) == len(self.there)
        assert counts[QueuePlace.IN_FLIGHT] == 0

    @invariant()
    def no_pod_is_forgotten(self) -> None:
        waiting = self.queue.counts()
        if waiting[QueuePlace.BACKOFF] or waiting[QueuePlace.UNSCHEDULABLE]:
            due = self.queue.next_due()
            assert due is not None
            assert due <= max(self.now, NOW) + SWEEP_AFTER


TestEveryPodIsSomewhere = EveryPodIsSomewhere.TestCase


def test_a_pod_that_is_paused_is_tried_again_at_that_time_or_after_any_change() -> None:
    queue = SchedulingQueue()
    queue.put(a_pod(), NOW)
    entry = queue.pop(NOW)
    assert entry is not None
    until = NOW + timedelta(seconds=40)
    queue.pause(entry, until, NOW)
    assert names(queue, until - timedelta(seconds=1)) == []
    assert queue.next_due() == until
    assert names(queue, until) == ["web-0"]
    queue.pause(entry, until + timedelta(minutes=1), until)
    assert queue.wake(helps_with(), until + timedelta(seconds=20)) == 1
    assert names(queue, until + timedelta(seconds=20)) == ["web-0"]


def test_changes_try_a_paused_pod_again_at_its_pace_although_there_is_nothing_else_to_do() -> None:
    queue = SchedulingQueue()
    queue.put(a_pod(), NOW)
    attempts, until = 0, NOW + timedelta(minutes=5)
    for tenth in range(600):
        now = NOW + tenth * SECOND / 10
        queue.wake(helps_with(), now)
        while entry := queue.pop(now):
            attempts += 1
            queue.pause(entry, until, now)
    assert 5 <= attempts <= 10


def test_a_change_does_not_keep_a_paused_pod_beyond_the_end_of_its_pause() -> None:
    queue = refused(VOLUMES, times=9)
    queue.wake(helps_with(Rule.VOLUME_BINDING), NOW)
    entry = queue.pop(NOW)
    assert entry is not None
    queue.pause(entry, NOW + 3 * SECOND, NOW)
    queue.wake(helps_with(), NOW + SECOND)
    assert queue.next_due() == NOW + 3 * SECOND
    assert names(queue, NOW + 3 * SECOND) == ["web-0"]
