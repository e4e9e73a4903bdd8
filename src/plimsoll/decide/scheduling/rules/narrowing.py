"""The nodes that are looked at at all, where rules name them: NodeName, and NodeAffinity by the
field `metadata.name`. kube-scheduler counts all others together, whatever else speaks against them.
"""

from dataclasses import dataclass

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import NodeRule
from plimsoll.decide.scheduling.reasons import Finding, Reason, SeenObject, unresolvable
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules import node_affinity, node_name

CONFLICT = "pod affinity terms conflict"


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Only nodes with these names are looked at. Some of them may not exist."""

    names: frozenset[str]
    rules: tuple[NodeRule, ...]
    """That name them."""

    @property
    def sentence(self) -> str:
        """What kube-scheduler says of all other nodes."""
        return f"node(s) didn't satisfy plugin(s) {self._listed}"

    @property
    def _listed(self) -> str:
        return f"[{' '.join(sorted(self.rules))}]"

    def outside(self, columns: Columns) -> int:
        """The nodes that are not looked at, as bits."""
        slots = (columns.index.find(name) for name in self.names)
        inside = sum(1 << slot for slot in slots if slot is not None)
        return columns.index.alive & ~inside

    def conflict(self, pod: Pod) -> Rejected:
        """Where no name is left."""
        sentence = f"{self.sentence} simultaneously"
        first, *others = self.rules
        return _rejected(first, tuple(others), sentence, pod)


def narrow(pod: Pod) -> Narrowing | Rejected | None:
    """None: every node is looked at."""
    if not pod.spec.node_name and pod.spec.affinity is None:
        return None
    named = {
        NodeRule.NODE_NAME: node_name.named_nodes(pod),
        NodeRule.NODE_AFFINITY: node_affinity.named_nodes(pod),
    }
    found = {rule: names for rule, names in named.items() if names is not None}
    if not found:
        return None
    if found.get(NodeRule.NODE_AFFINITY) == frozenset():
        return _rejected(NodeRule.NODE_AFFINITY, (), CONFLICT, pod)
    narrowing = Narrowing(frozenset.intersection(*found.values()), tuple(found))
    return narrowing if narrowing.names else narrowing.conflict(pod)


def _rejected(rule: NodeRule, others: tuple[NodeRule, ...], sentence: str, pod: Pod) -> Rejected:
    finding = Finding(
        reason=Reason.NODE_AFFINITY_MISMATCH, sentence=sentence, about=SeenObject("Pod", pod.key)
    )
    return Rejected(rule, unresolvable(finding), others)
