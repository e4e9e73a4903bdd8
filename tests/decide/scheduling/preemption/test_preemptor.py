from collections.abc import Iterator

from hypothesis import given, settings

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import Judged, KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.picking import turn_of
from plimsoll.decide.scheduling.preemption.choice import best_of
from plimsoll.decide.scheduling.preemption.messages import no_candidate_text
from plimsoll.decide.scheduling.preemption.preemptor import NoPreemption, Preemption, Preemptor
from plimsoll.decide.scheduling.preemption.trial import NodeObstacle, NodeTrial, TrialPod
from plimsoll.decide.scheduling.preemption.victims import Candidate, find_victims
from plimsoll.decide.scheduling.profiles.profile import Profile
from plimsoll.decide.scheduling.reasons import Verdict
from tests.builders import a_node, a_pod
from tests.decide.scheduling.builders import a_budget, ranked
from tests.decide.scheduling.columns.clusters import Chance, seeds
from tests.decide.scheduling.preemption.crowded import Crowd, a_running_pod, a_waiting_pod


def plain_trials(pod: Pod, crowd: Crowd) -> Iterator[NodeTrial]:
    waiting = TrialPod.of(pod, crowd.view)
    assert isinstance(waiting, TrialPod)
    for node in crowd.view.all_nodes():
        nominated = crowd.nominations.counted_for(pod, node.name)
        yield NodeTrial.of(waiting, node, crowd.view, nominated)


def plain_search(pod: Pod, crowd: Crowd) -> tuple[str, tuple[Pod, ...]] | str:
    """Every node is tried, one after the other."""
    found: list[Candidate] = []
    refused: list[NodeObstacle] = []
    for trial in plain_trials(pod, crowd):
        obstacle = trial.find_obstacle()
        assert obstacle is not None
        if obstacle.judgement.verdict is not Verdict.UNSCHEDULABLE:
            continue
        outcome = find_victims(trial, crowd.columns.budgets)
        if isinstance(outcome, Candidate):
            found.append(outcome)
        else:
            refused.append(outcome)
    if not found:
        return no_candidate_text(refused, len(crowd.view.nodes))
    best = best_of(found).at_turn(turn_of(pod, 0))
    return best.node, best.victims


def judged(kernel: Kernel, pod: Pod) -> Judged:
    found = kernel.judge(pod)
    assert isinstance(found, Judged)
    return found


def told(outcome: Preemption | NoPreemption) -> tuple[str, tuple[Pod, ...]] | str:
    if isinstance(outcome, NoPreemption):
        return outcome.message
    return outcome.node, outcome.victims


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_the_search_over_columns_finds_what_trying_every_node_finds(seed: int) -> None:
    chance = Chance(seed)
    crowd = Crowd(chance)
    kernel, preemptor = Kernel(crowd.columns), Preemptor(crowd.columns)
    for _ in range(3):
        pod = a_waiting_pod(chance)
        if all(trial.find_obstacle() for trial in plain_trials(pod, crowd)):
            outcome = preemptor.decide(judged(kernel, pod))
            assert told(outcome) == plain_search(pod, crowd)


@given(seed=seeds)
@settings(max_examples=100, deadline=None)
def test_what_is_kept_from_pod_to_pod_follows_every_change(seed: int) -> None:
    chance = Chance(seed)
    crowd = Crowd(chance)
    columns, pod = crowd.columns, a_waiting_pod(chance)
    kernel, kept = Kernel(columns), Preemptor(columns)
    for number in range(4):
        if judged(kernel, pod).flags.all():
            outcome = kept.decide(judged(kernel, pod))
            assert told(outcome) == told(Preemptor(columns).decide(judged(kernel, pod)))
        change(chance, columns, number)


def change(chance: Chance, columns: Columns, number: int) -> None:
    pods = [*columns.pods.all()]
    if pods and chance.happens(50):
        columns.remove(chance.choice(pods))
    if chance.happens(50):
        columns.put(a_running_pod(chance, f"new-{number}", f"node-{chance.randint(0, 6)}"))
    if chance.happens(50):
        columns.put(a_budget("web", labels={"app": "web"}, allowed=chance.randint(0, 3)))
    if chance.happens(20):
        columns.put(a_node(f"node-{chance.randint(5, 9)}", cpu="1"))


def test_a_pod_is_put_where_the_least_important_pods_leave() -> None:
    columns = Columns.of(
        [
            a_node("node-1", cpu="1"),
            a_node("node-2", cpu="1"),
            ranked(a_pod("a", requests={"cpu": "1"}, node="node-1"), 5),
            ranked(a_pod("b", requests={"cpu": "1"}, node="node-2"), 1),
        ]
    )
    pod = ranked(a_pod("high", requests={"cpu": "1"}), 10)

    outcome = Preemptor(columns).decide(judged(Kernel(columns), pod))

    assert isinstance(outcome, Preemption)
    assert outcome.node == "node-2"
    assert [victim.name for victim in outcome.evicted] == ["b"]
    assert outcome.message == (
        "preemption: found a potential placement for pod on node node-2, preempting 1 victims"
    )


def test_less_important_pods_lose_the_node_that_they_were_promised() -> None:
    columns = Columns.of(
        [a_node("node-1", cpu="1"), ranked(a_pod("a", requests={"cpu": "1"}, node="node-1"), 1)]
    )
    loser = ranked(a_pod("loser", requests={"cpu": "1"}), 5, nominated="node-1")
    columns.nominations.put(loser)
    pod = ranked(a_pod("high", requests={"cpu": "1"}), 10)

    outcome = Preemptor(columns).decide(judged(Kernel(columns), pod))

    assert isinstance(outcome, Preemption)
    assert outcome.losers == (loser,)


def test_a_pod_does_not_stand_in_its_own_way_on_the_node_that_it_was_promised() -> None:
    columns = Columns.of(
        [a_node("node-1", cpu="1"), ranked(a_pod("a", requests={"cpu": "1"}, node="node-1"), 1)]
    )
    pod = ranked(a_pod("high", requests={"cpu": "1"}), 10, nominated="node-1")
    columns.nominations.put(pod)

    outcome = Preemptor(columns).decide(judged(Kernel(columns), pod))

    assert isinstance(outcome, Preemption)
    assert [victim.name for victim in outcome.victims] == ["a"]


def test_a_resource_that_the_profile_ignores_need_not_be_freed() -> None:
    columns = Columns.of(
        [a_node("node-1", cpu="1"), ranked(a_pod("a", requests={"cpu": "1"}, node="node-1"), 1)]
    )
    pod = ranked(a_pod("high", requests={"cpu": "1", "example.com/gpu": "1"}), 10)
    profile = Profile(ignored_resources=frozenset({"example.com/gpu"}))
    kernel = Kernel(columns, KernelSettings(profile=profile))

    outcome = Preemptor(columns).decide(judged(kernel, pod))

    assert isinstance(outcome, Preemption)
    assert [victim.name for victim in outcome.victims] == ["a"]


@given(seed=seeds)
@settings(max_examples=100, deadline=None)
def test_many_promised_nodes_are_freed_as_if_each_was_tried(seed: int) -> None:
    chance = Chance(seed)
    crowd = Crowd(chance)
    kernel, preemptor = Kernel(crowd.columns), Preemptor(crowd.columns)
    for number in range(5):
        node = f"node-{number}"
        promised = a_waiting_pod(chance, f"early-{number}")
        crowd.nominations.put(ranked(promised, chance.choice([0, 10, 20]), nominated=node))
        pod = a_waiting_pod(chance)
        if all(trial.find_obstacle() for trial in plain_trials(pod, crowd)):
            outcome = preemptor.decide(judged(kernel, pod))
            assert told(outcome) == plain_search(pod, crowd)
