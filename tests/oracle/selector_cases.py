"""Asks `plimsoll.api.selectors`."""

from typing import Any

import msgspec

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.label import LabelSelector, LabelSelectorSpec, parse_label_selector
from plimsoll.api.selectors.node import (
    NO_TERM_MATCHES,
    NodeSelector,
    NodeSelectorSpec,
    RequiredNodes,
)
from plimsoll.api.selectors.topology import TopologySelector, TopologyTermSpec
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume

Case = dict[str, Any]
Answer = dict[str, Any]


def label_selector(case: Case) -> Answer:
    spec = case["selector"]
    try:
        selector = LabelSelector.of(
            None if spec is None else from_document(LabelSelectorSpec, spec)
        )
    except ValueError as error:
        return {"error": str(error)}
    return _label_answer(selector, case) | {"empty": selector.is_empty}


def label_selector_string(case: Case) -> Answer:
    try:
        return _label_answer(parse_label_selector(case["selector"]), case)
    except ValueError as error:
        return {"error": str(error)}


def _label_answer(selector: LabelSelector, case: Case) -> Answer:
    return {"match": selector.matches(case["labels"] or {}), "string": str(selector)}


def node_selector(case: Case) -> Answer:
    selector = NodeSelector.of(from_document(NodeSelectorSpec, case["nodeSelector"]))
    node = from_document(Node, case["node"])
    matches = selector.matches(node.labels, node.name)
    return _node_answer(matches=matches, complaint="" if matches else selector.complaint)


def pod_node_affinity(case: Case) -> Answer:
    pod, node = from_document(Pod, case["pod"]), from_document(Node, case["node"])
    required = RequiredNodes.of(pod.spec.node_selector, pod.spec.required_nodes)
    return _node_answer(
        matches=required.matches(node.labels, node.name),
        complaint=required.complaint(node.labels, node.name),
    )


def volume_node_affinity(case: Case) -> Answer:
    spec = from_document(PersistentVolume, case["pv"]).spec.required_nodes
    selector = None if spec is None else NodeSelector.of(spec)
    if selector is None or selector.matches(case["nodeLabels"] or {}):
        return {"match": True}
    return _node_answer(matches=False, complaint=selector.complaint or NO_TERM_MATCHES)


def allowed_topologies(case: Case) -> Answer:
    terms = msgspec.convert(case["allowedTopologies"] or [], tuple[TopologyTermSpec, ...])
    return {"match": TopologySelector.of(terms).matches(case["nodeLabels"] or {})}


def _node_answer(*, matches: bool, complaint: str) -> Answer:
    return {"match": matches} | ({"error": complaint} if complaint else {})
