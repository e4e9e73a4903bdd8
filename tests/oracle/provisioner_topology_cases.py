"""Asks `plimsoll.decide.provisioning` where volumes have to be, and from where they are reached."""

from typing import Any

from plimsoll.api.core import Node
from plimsoll.api.selectors.topology import TopologyTermSpec
from plimsoll.api.storage import CSINode
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import VolumeNodeAffinity
from plimsoll.decide.provisioning.calls import AccessibilityRequirement
from plimsoll.decide.provisioning.topology.node_affinity import (
    is_reachable,
    node_affinity,
    reach_complaint,
)
from plimsoll.decide.provisioning.topology.requirement import (
    NO_TOPOLOGY,
    Located,
    TopologyMemory,
    TopologyProblem,
    TopologyRequest,
    locate,
)
from plimsoll.decide.provisioning.topology.terms import spread, spread_start

Answer = dict[str, Any]

PROBLEMS = {
    TopologyProblem.CSI_NODE_NOT_FOUND: "csinode-not-found",
    TopologyProblem.NO_KEYS_ON_NODE: "no-topology-keys-on-selected-node",
    TopologyProblem.LABELS_MISSING: "selected-node-labels-missing",
    TopologyProblem.NODE_NOT_ALLOWED: "selected-node-not-allowed",
    TopologyProblem.NODE_NOT_REQUISITE: "selected-node-not-in-requisite",
    TopologyProblem.NO_TOPOLOGY: "no-available-topology",
    TopologyProblem.KEYS_ON_NO_NODE: "topology-keys-on-no-node",
    TopologyProblem.INVALID_KEY: "invalid-topology-key",
}


class _Places:
    def __init__(self, case: dict[str, Any]) -> None:
        nodes = [from_document(Node, node) for node in case["nodes"]]
        csi_nodes = [from_document(CSINode, node) for node in case["csiNodes"]]
        self._nodes = {node.name: node for node in nodes}
        self._csi_nodes = {node.name: node for node in csi_nodes}

    def node(self, name: str) -> Node | None:
        return self._nodes.get(name)

    def nodes(self) -> list[Node]:
        return list(self._nodes.values())

    def csi_node(self, name: str) -> CSINode | None:
        return self._csi_nodes.get(name)

    def csi_nodes(self) -> list[CSINode]:
        return list(self._csi_nodes.values())


def accessibility(case: dict[str, Any]) -> Answer:
    return _located(case, NO_TOPOLOGY)[0]


def accessibility_seq(case: dict[str, Any]) -> Answer:
    answers, memory = [], NO_TOPOLOGY
    for step in case["steps"]:
        answer, memory = _located(step, NO_TOPOLOGY if step.get("forgetCache") else memory)
        answers.append(answer)
    return {"steps": answers}


def _located(case: dict[str, Any], memory: TopologyMemory) -> tuple[Answer, TopologyMemory]:
    allowed = case["allowedTopologies"] or []
    request = TopologyRequest(
        driver=case["driverName"],
        claim_name=case["pvc"]["name"],
        allowed=tuple(from_document(TopologyTermSpec, term) for term in allowed),
        selected_node=case["selectedNode"],
        is_strict=case["strictTopology"],
        is_told_at_once=case["immediateTopology"],
    )
    found = locate(request, _Places(case), memory)
    if isinstance(found, Located):
        return {"error": None, "requirement": shown(found.requirement)}, found.memory
    return {"error": PROBLEMS[found.problem], "requirement": None}, found.memory


def shown(requirement: AccessibilityRequirement | None) -> Answer | None:
    if requirement is None:
        return None
    return {
        "requisite": [{"segments": segment} for segment in requirement.requisite],
        "preferred": [{"segments": segment} for segment in requirement.preferred],
    }


def spread_hash(case: dict[str, Any]) -> Answer:
    name = case["pvcName"]
    number, index = spread(name)
    return {"hash": number, "index": index, "rotation": spread_start(name, case["numTerms"])}


def affinity(case: dict[str, Any]) -> Answer:
    segments = [topology["segments"] or {} for topology in case["accessibleTopology"]]
    return {"nodeAffinity": node_affinity(segments)}


def volume_accessible(case: dict[str, Any]) -> Answer:
    given, topology = case["nodeAffinity"], case["nodeTopology"]
    required = None if given is None else from_document(VolumeNodeAffinity, given).required
    segment = None if topology is None else topology["segments"] or {}
    return {
        "accessible": is_reachable(required, segment),
        "error": bool(reach_complaint(required, segment)),
    }
