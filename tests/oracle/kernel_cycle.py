"""One scheduling cycle, decided for all nodes at once with the columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from plimsoll.api.pods import Pod
from plimsoll.api.typed import from_document
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import BITS_BY_RULE, RULES, of_first_rule
from plimsoll.decide.scheduling.judge import Judge, Judged, KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel, NoNode, Placement
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.reasons import Verdict
from plimsoll.decide.scheduling.rule_fit import ColumnRule, Rejected
from plimsoll.decide.scheduling.rules.image_locality import ImageLocalityColumns
from plimsoll.decide.scheduling.rules.inter_pod_affinity import score
from plimsoll.decide.scheduling.rules.inter_pod_affinity.all_nodes import InterPodAffinityColumns
from plimsoll.decide.scheduling.rules.pod_topology_spread import score as spread_score
from plimsoll.decide.scheduling.rules.pod_topology_spread.columns import TopologySpreadColumns
from tests.decide.scheduling.columns.plain import sentences_of
from tests.oracle.cluster_cases import Answer, objects_of

COMPATIBLE = KernelSettings(policy=Policy.COMPATIBLE)
COLUMN_SCORES: Mapping[str, tuple[int, Callable[[Columns], ColumnRule]]] = {
    "PodTopologySpread": (spread_score.WEIGHT, TopologySpreadColumns),
    "InterPodAffinity": (score.WEIGHT, InterPodAffinityColumns),
    "ImageLocality": (1, ImageLocalityColumns),
}
"""The rules that give a score of their own, with their weights."""


def told(expected: Answer) -> Answer:
    """What columns can tell of an expectation: not which plugins were skipped, and of scores only
    by how much a node is worse than the best."""
    return {
        "plugins": _failures(expected["plugins"]),
        "result": _result(expected["result"]),
        "scores": _behind(expected.get("scores") or {}),
        "scoreError": "scoreError" in expected,
    }


def _failures(plugins: Answer) -> Answer:
    """Nothing where no node is looked at."""
    statuses = [each["preFilter"] for each in plugins.values()]
    named = [set(each["nodeNames"]) for each in statuses if "nodeNames" in each]
    is_rejected = any(each["code"] not in ("Success", "Skip") for each in statuses)
    if is_rejected or (named and not set.intersection(*named)):
        return {}
    return {
        name: {"fail": {node: sorted(each["reasons"]) for node, each in plugin["fail"].items()}}
        for name, plugin in plugins.items()
        if "fail" in plugin
    }


def _result(result: Answer) -> Answer:
    if "error" in result:
        return {"error": True}
    kept = ("feasible", "fitError", "unschedulablePlugins")
    nodes = {
        node: {"plugin": each["plugin"], "reasons": sorted(each["reasons"])}
        for node, each in (result.get("nodes") or {}).items()
    }
    return {name: result[name] for name in kept if name in result} | {"nodes": nodes}


def _behind(scores: Answer) -> Answer:
    found: Answer = {node: {"normalized": {}} for node in scores}
    _add_behind(found, "total", {node: each["total"] for node, each in scores.items()})
    for name in COLUMN_SCORES:
        values = {node: each["normalized"].get(name, 0) for node, each in scores.items()}
        _add_behind({node: each["normalized"] for node, each in found.items()}, name, values)
    return found


def _add_behind(found: Answer, name: str, values: Mapping[str, int]) -> None:
    best = max(values.values(), default=0)
    for node, value in values.items():
        found[node][name] = best - value


def answer(case: dict[str, Any], feasible: Sequence[str] | None) -> Answer:
    pod, columns = from_document(Pod, case["pod"]), Columns.of(objects_of(case))
    for nominated in case.get("nominatedPods") or ():
        columns.nominations.put(from_document(Pod, nominated))
    kernel = Kernel(columns, COMPATIBLE)
    # Each plugin by itself does not look at nominations, and neither do scores.
    judged, result = Judge(columns, COMPATIBLE).judge(pod), _decided(kernel, pod)
    names: Sequence[str] = result.get("feasible", ()) if feasible is None else feasible
    has_error = bool(names) and kernel.find_scoring_error(pod) is not None
    told: Answer = {"plugins": {}, "result": result, "scores": {}, "scoreError": has_error}
    if isinstance(judged, Rejected):
        return told
    scores = {} if has_error or not names else _scored(judged, columns, names)
    return told | {"plugins": _blocked(judged, columns), "scores": scores}


def _blocked(judged: Judged, columns: Columns) -> Answer:
    found: Answer = {}
    for node in columns.all_nodes():
        flags = int(judged.flags[columns.index.find(node.name)])
        for rule in RULES:
            if sentences := sentences_of(flags & BITS_BY_RULE[rule], judged.node_fit.resources):
                found.setdefault(rule.value, {"fail": {}})["fail"][node.name] = sentences
    return found


def _decided(kernel: Kernel, pod: Pod) -> Answer:
    judged, decision = kernel.judge(pod), kernel.decide(pod)
    found: Answer = {"nodes": {}, "feasible": []}
    if not len(kernel.columns.index):
        return {"error": True}
    if isinstance(judged, Judged):
        found |= _by_node(judged, kernel.columns)
    elif judged.judgement.verdict is Verdict.ERROR:
        return {"error": True}
    promised = pod.status.nominated_node_name
    if promised in found["feasible"]:
        chosen = decision.node if isinstance(decision, Placement) else None
        return {"feasible": [chosen], "nodes": {}}
    if isinstance(decision, NoNode) and not found["feasible"]:
        found["fitError"] = decision.fit_error
        found["unschedulablePlugins"] = sorted({rule.value for rule in decision.rules})
    return found


def _by_node(judged: Judged, columns: Columns) -> Answer:
    feasible, nodes = [], {}
    first = of_first_rule(judged.flags)
    narrowing = judged.narrowing
    for node in columns.all_nodes():
        if narrowing is not None and node.name not in narrowing.names:
            continue
        flags = int(first[columns.index.find(node.name)])
        if not flags:
            feasible.append(node.name)
            continue
        rule = next(rule for rule in RULES if flags & BITS_BY_RULE[rule])
        sentences = sentences_of(flags, judged.node_fit.resources)
        nodes[node.name] = {"plugin": rule.value, "reasons": sentences}
    return {"feasible": feasible, "nodes": nodes}


def _scored(judged: Judged, columns: Columns, feasible: Sequence[str]) -> Answer:
    blocked = np.array([name not in feasible for name in columns.index.names], np.uint64)
    judged = replace(judged, first=blocked, blocked=())
    slots = {
        columns.index.names[slot]: slot for slot in np.flatnonzero(judged.is_feasible).tolist()
    }
    found: Answer = {node: {"normalized": {}} for node in slots}
    totals = judged.totals()
    _add_behind(found, "total", {node: int(totals[slot]) for node, slot in slots.items()})
    for name, (weight, rule) in COLUMN_SCORES.items():
        fit = rule(columns).judge(judged.pod)
        values = np.zeros(columns.index.size, np.int64)
        if fit is not None and not isinstance(fit, Rejected) and fit.score is not None:
            values = fit.score.weighted(judged.is_feasible) // weight
        scores = {node: int(values[slot]) for node, slot in slots.items()}
        _add_behind({node: each["normalized"] for node, each in found.items()}, name, scores)
    return found
