"""On which nodes a DaemonSet's pods belong, and what such a pod looks like."""

from copy import deepcopy
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.pods import REQUIRED, Pod, PodSpec, Toleration
from plimsoll.api.registry import Document
from plimsoll.api.selectors.node import RequiredNodes
from plimsoll.api.typed import from_document
from plimsoll.api.workloads import DaemonSet
from plimsoll.decide.workloads.owned import DAEMON_SET, controller_reference
from plimsoll.decide.workloads.pod_template import pod_from_template
from plimsoll.decide.workloads.revisions import REVISION_LABEL

NO_EXECUTE, NO_SCHEDULE = "NoExecute", "NoSchedule"
TOLERATED = (
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
)
ON_HOST_NETWORK = (("node.kubernetes.io/network-unavailable", NO_SCHEDULE),)
NODE_NAME = "metadata.name"
GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"
GENERATION_LABEL = "pod-template-generation"


@dataclass(frozen=True, slots=True)
class DaemonPlacement:
    """What a DaemonSet demands of nodes."""

    node_name: str
    required: RequiredNodes
    tolerations: tuple[Toleration, ...]

    @classmethod
    def of(cls, set_: DaemonSet) -> "DaemonPlacement":
        spec = from_document(PodSpec, dict(set_.spec.template.get("spec") or {}))
        added = added_tolerations(host_network=spec.host_network)
        tolerations = [from_document(Toleration, t) for t in added]
        return cls(
            spec.node_name,
            RequiredNodes.of(spec.node_selector, spec.required_nodes),
            (*spec.tolerations, *tolerations),
        )

    def may_stay(self, node: Node) -> bool:
        """Whether a pod that is there already is left alone."""
        return self._fits(node) and self._tolerates(node, (NO_EXECUTE,))

    def should_run(self, node: Node) -> bool:
        return self._fits(node) and self._tolerates(node, (NO_EXECUTE, NO_SCHEDULE))

    def _fits(self, node: Node) -> bool:
        is_meant = self.node_name in ("", node.name)
        return is_meant and self.required.matches(node.labels, node.name)

    def _tolerates(self, node: Node, effects: tuple[str, ...]) -> bool:
        return all(
            any(toleration.tolerates(taint) for toleration in self.tolerations)
            for taint in node.spec.taints
            if taint.effect in effects
        )


def added_tolerations(*, host_network: bool) -> list[Document]:
    """A daemon stays where other pods have to leave."""
    taints = TOLERATED + (ON_HOST_NETWORK if host_network else ())
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in taints]


def pod_document(set_: DaemonSet, node: str, hash_: str) -> Document:
    owner = controller_reference(DAEMON_SET, set_)
    pod = pod_from_template(set_.spec.template, set_.namespace, owner)
    pod["metadata"]["labels"] |= _labels(set_) | {REVISION_LABEL: hash_}
    spec = pod["spec"]
    spec["tolerations"] = _with_tolerations(spec)
    spec["affinity"] = _on_node(spec.get("affinity") or {}, node)
    return pod


def _labels(set_: DaemonSet) -> dict[str, str]:
    generation = set_.annotations.get(GENERATION_ANNOTATION, "")
    return {GENERATION_LABEL: generation} if generation.isdecimal() else {}


def _with_tolerations(spec: Document) -> list[Document]:
    """One that the template has already for the same taint gives way."""
    added = added_tolerations(host_network=bool(spec.get("hostNetwork")))
    own = [t for t in spec.get("tolerations") or [] if _matches(t) not in map(_matches, added)]
    return own + added


def _matches(toleration: Document) -> tuple[str, str, str, str]:
    fields = ("key", "effect", "operator", "value")
    key, effect, operator, value = (str(toleration.get(field) or "") for field in fields)
    return key, effect, operator or "Equal", value


def _on_node(affinity: Document, node: str) -> Document:
    """Other demands on nodes were checked when the node was chosen."""
    pinned = deepcopy(affinity)
    requirement = {"key": NODE_NAME, "operator": "In", "values": [node]}
    term = {"nodeSelectorTerms": [{"matchFields": [requirement]}]}
    pinned["nodeAffinity"] = (pinned.get("nodeAffinity") or {}) | {REQUIRED: term}
    return pinned


def target_node(pod: Pod) -> str:
    """Where it is, or where it is meant to go; empty if that cannot be told."""
    if pod.spec.node_name:
        return pod.spec.node_name
    required = pod.spec.required_nodes
    terms = required.node_selector_terms if required is not None else ()
    for term in terms:
        for field in term.match_fields:
            if field.key == NODE_NAME and field.operator == "In" and len(field.values or ()) == 1:
                return (field.values or ("",))[0]
    return ""


def is_same_for_daemons(before: Node, after: Node) -> bool:
    """Whether a change of a node leaves everything that a Placement looks at as it was."""
    return before.labels == after.labels and before.spec == after.spec
