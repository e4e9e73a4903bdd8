"""Asks `plimsoll.decide.scheduling.preemption` who must leave for whom, node by node."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plimsoll.api.meta import wire_time
from plimsoll.api.pods import Pod
from plimsoll.api.policy import PodDisruptionBudget
from plimsoll.api.typed import from_document
from plimsoll.decide.scheduling.columns.pods.budgets import DisruptionBudgets
from plimsoll.decide.scheduling.columns.pods.nominations import Nominations
from plimsoll.decide.scheduling.preemption.choice import (
    BestCandidates,
    best_of,
    earliest_start,
    sum_of_priorities,
)
from plimsoll.decide.scheduling.preemption.eligibility import NotEligible, find_ineligibility
from plimsoll.decide.scheduling.preemption.messages import (
    no_candidate_text,
    placement_text,
    preemption_text,
)
from plimsoll.decide.scheduling.preemption.trial import NodeObstacle, NodeTrial, TrialPod
from plimsoll.decide.scheduling.preemption.victims import NOT_STARTED, Candidate, find_victims
from plimsoll.decide.scheduling.reasons import Verdict
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules.node_affinity import named_nodes
from plimsoll.decide.scheduling.view import Cluster
from tests.oracle.cluster_cases import Answer, cluster_of, shown
from tests.oracle.comparison import agrees

FIRST_POST_FILTER = "DynamicResources"
"""The plugin that kube-scheduler names, although it has nothing to do with it."""
LEFT_OUT = "node(s) didn't satisfy plugin(s) [NodeAffinity]"


class Attempt:
    """One pod that finds no node."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.pod = from_document(Pod, case["pod"])
        self.cluster: Cluster = cluster_of(case)
        self.budgets, self.nominations = DisruptionBudgets(), Nominations()
        for document in case.get("podDisruptionBudgets") or ():
            self.budgets.put(from_document(PodDisruptionBudget, document))
        for document in case.get("nominatedPods") or ():
            self.nominations.put(from_document(Pod, document))
        self.named = named_nodes(self.pod)
        self.trials = dict(self._trials())
        self.obstacles = self._obstacles()

    def _trials(self) -> Iterator[tuple[str, NodeTrial]]:
        waiting = TrialPod.of(self.pod, self.cluster)
        if isinstance(waiting, Rejected):
            raise TypeError(f"no case so far is about a pod that is rejected: {waiting}")
        for node in self.cluster.all_nodes():
            if self.named is not None and node.name not in self.named:
                continue
            nominated = self.nominations.counted_for(self.pod, node.name)
            yield node.name, NodeTrial.of(waiting, node, self.cluster, nominated=nominated)

    def _obstacles(self) -> dict[str, NodeObstacle]:
        found = {name: trial.find_obstacle() for name, trial in self.trials.items()}
        return {name: obstacle for name, obstacle in found.items() if obstacle is not None}

    @property
    def is_promised_a_node_that_fits(self) -> bool:
        """Then kube-scheduler looks at no other."""
        return self.pod.status.nominated_node_name in self.trials.keys() - self.obstacles.keys()

    @property
    def feasible(self) -> list[str]:
        if self.is_promised_a_node_that_fits:
            return [self.pod.status.nominated_node_name]
        return sorted(self.trials.keys() - self.obstacles.keys())

    @property
    def potential(self) -> list[str]:
        return [
            name
            for name, obstacle in sorted(self.obstacles.items())
            if obstacle.judgement.verdict is Verdict.UNSCHEDULABLE
        ]

    @property
    def ineligibility(self) -> NotEligible | None:
        nominated = self.pod.status.nominated_node_name
        obstacle = self.obstacles.get(nominated)
        verdict = None if obstacle is None else obstacle.judgement.verdict
        return find_ineligibility(self.pod, verdict, self.cluster.pods_on(nominated))


def preemption(case: dict[str, Any]) -> Answer:
    attempt = Attempt(case)
    answer: Answer = {"filter": _filter(attempt)}
    if attempt.feasible:
        return answer
    ineligible = attempt.ineligibility
    answer |= {"eligible": ineligible is None, "potentialNodes": attempt.potential}
    if ineligible is not None:
        answer["ineligibleReason"] = ineligible.value
        return answer | _refused(answer, preemption_text(ineligible), None)
    outcomes = {
        name: find_victims(attempt.trials[name], attempt.budgets) for name in attempt.potential
    }
    candidates = [each for each in outcomes.values() if isinstance(each, Candidate)]
    refused = {name: each for name, each in outcomes.items() if isinstance(each, NodeObstacle)}
    if attempt.potential:
        answer["dryRun"] = _dry_run(candidates, refused)
    if not candidates:
        text = no_candidate_text(refused.values(), len(attempt.cluster.nodes))
        return answer | _refused(answer, text, "")
    best = best_of(candidates)
    return answer if len(best.equal) > 1 else answer | _carried_out(attempt, best)


def _filter(attempt: Attempt) -> Answer:
    found = {name: _shown(obstacle) for name, obstacle in attempt.obstacles.items()}
    plugins = {each["plugin"] for each in found.values()}
    counted = Counter(reason for each in found.values() for reason in each["reasons"])
    if attempt.is_promised_a_node_that_fits:
        return {"feasible": attempt.feasible, "otherNodes": {"code": Verdict.UNRESOLVABLE.value}}
    answer: Answer = {"feasible": attempt.feasible} | ({"nodes": found} if found else {})
    left_out = len(attempt.cluster.nodes) - len(attempt.trials)
    if left_out:
        counted[LEFT_OUT] += left_out
        plugins.add("NodeAffinity")
        answer["otherNodes"] = {"code": Verdict.UNRESOLVABLE.value, "reasons": [LEFT_OUT]}
    if attempt.feasible:
        return answer
    listed = sorted(f"{number} {reason}" for reason, number in counted.items())
    text = f"0/{len(attempt.cluster.nodes)} nodes are available: {', '.join(listed)}."
    return answer | {"fitError": text, "unschedulablePlugins": sorted(plugins)}


def _dry_run(candidates: Sequence[Candidate], refused: Mapping[str, NodeObstacle]) -> Answer:
    answer: Answer = {"candidates": [_shown_candidate(each) for each in candidates]}
    if refused:
        answer["notCandidates"] = {name: _shown(each) for name, each in refused.items()}
    if candidates:
        best = best_of(candidates)
        answer["best"] = [each.node for each in best.equal]
        if best.decided_by is not None:
            answer["lastDecidingCriterion"] = best.decided_by.value
    return answer


def _shown(obstacle: NodeObstacle) -> Answer:
    plugin = {} if obstacle.rule is None else {"plugin": str(obstacle.rule)}
    return shown(obstacle.judgement) | plugin


def _shown_candidate(candidate: Candidate) -> Answer:
    start = earliest_start(candidate)
    return {
        "node": candidate.node,
        "victims": [str(pod.key) for pod in candidate.victims],
        "pdbViolations": candidate.violations,
        "highestPriority": candidate.victims[0].priority,
        "sumPriorities": str(sum_of_priorities(candidate)),
        "earliestStart": "now" if start == NOT_STARTED else wire_time(start),
    }


def _refused(answer: Answer, text: str, nominated: str | None) -> Answer:
    status = {
        "code": Verdict.UNSCHEDULABLE.value,
        "plugin": FIRST_POST_FILTER,
        "reasons": [text],
        "nominatedNodeName": nominated,
    }
    return {
        "postFilter": status,
        "fitErrorWithPostFilter": f"{answer['filter']['fitError']} {text}",
    }


def _carried_out(attempt: Attempt, best: BestCandidates) -> Answer:
    chosen = best.at_turn(0)
    status = {
        "code": Verdict.SUCCESS.value,
        "reasons": [placement_text(chosen.node, len(chosen.victims))],
        "nominatedNodeName": chosen.node,
    }
    evicted = sorted(str(pod.key) for pod in chosen.victims if not pod.is_being_deleted)
    lower = [
        str(pod.key)
        for pod in attempt.nominations.on(chosen.node)
        if evicted and pod.priority < attempt.pod.priority
    ]
    actuation = {
        "deleted": evicted,
        "disruptionTargetPatched": evicted,
        "nominationsCleared": lower,
    }
    return {"postFilter": status, "actuation": actuation}


def preemption_agrees(expected: Answer, actual: Answer) -> bool:
    """Where the order of budgets decides any of its outcomes is right, and none is carried out."""
    choices = [expected.get("dryRun"), *expected.get("pdbOrderAlternatives", ())]
    if "pdbOrderAlternatives" not in expected:
        return agrees(expected, actual)
    told = {key: expected[key] for key in ("filter", "eligible", "potentialNodes")}
    return agrees(told, {key: actual[key] for key in told}) and any(
        agrees(choice, actual["dryRun"]) for choice in choices
    )
