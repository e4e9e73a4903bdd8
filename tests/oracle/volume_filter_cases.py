"""Asks the rules of `plimsoll.decide.scheduling` about volumes that nodes can or cannot have."""

from typing import Any

from plimsoll.api.pods import Pod
from plimsoll.api.typed import from_document
from plimsoll.decide.scheduling.reasons import FIT, Judgement, Verdict
from plimsoll.decide.scheduling.rules import (
    node_volume_limits as volume_limits,
    volume_restrictions,
    volume_zone,
)
from tests.oracle.cluster_cases import Answer, cluster_of, shown


def volumezone(case: dict[str, Any]) -> Answer:
    cluster, pod = cluster_of(case), from_document(Pod, case["pod"])
    demands = volume_zone.prepare(pod, cluster)
    if isinstance(demands, Judgement):
        return {"preFilter": shown(demands)}
    nodes = {node.name: shown(volume_zone.judge(demands, node)) for node in cluster.nodes.values()}
    return {"preFilter": shown(FIT), "nodes": nodes}


def volumerestrictions(case: dict[str, Any]) -> Answer:
    cluster, pod = cluster_of(case), from_document(Pod, case["pod"])
    claims = volume_restrictions.prepare(pod, cluster)
    if isinstance(claims, Judgement):
        return {"preFilter": shown(claims)}
    nodes = {
        name: shown(volume_restrictions.judge(pod, claims, cluster.pods_on(name)))
        for name in cluster.nodes
    }
    removed: Answer = {}
    for gone in cluster.pods:
        node = gone.spec.node_name
        others = [other for other in cluster.pods_on(node) if other is not gone]
        judgement = volume_restrictions.judge(pod, claims.with_pod(gone, -1), others)
        removed[str(gone.key)] = {"node": node, "filter": shown(judgement)}
    return {"preFilter": shown(FIT), "nodes": nodes, "afterRemovingPod": removed}


def nodevolumelimits(case: dict[str, Any]) -> Answer:
    cluster, pod = cluster_of(case), from_document(Pod, case["pod"])
    prepared = volume_limits.prepare(pod)
    if not prepared.is_fit or prepared.verdict is Verdict.SKIP:
        return {"preFilter": shown(prepared)}
    demands_driver = (case.get("options") or {}).get("volumeLimitScaling", False)
    nodes = {
        name: shown(volume_limits.judge(pod, name, cluster, demands_drivers=demands_driver))
        for name in cluster.nodes
    }
    return {"preFilter": shown(FIT), "nodes": nodes}
